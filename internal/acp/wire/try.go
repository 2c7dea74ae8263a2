package wire

// TryNotify sends a notification that can be left out: it is sent only while
// less than half of what may wait to be written does, and never waits itself. It
// reports whether it was sent; an error is as for [Conn.Notify].
func (c *Conn) TryNotify(method string, params any) (sent bool, err error) {
	if c.q.busy(0) { // before the work of encoding
		return false, nil
	}
	line, err := requestFrame(nil, method, params)
	if err != nil {
		return false, err
	}
	if c.q.busy(len(line)) || !c.q.tryAdmit(len(line), classOwn) {
		return false, nil
	}
	err = c.q.push(outFrame{line: line, room: len(line)})
	return err == nil, err
}

// busy reports whether half of the queue is taken, or would be with room more.
func (q *queue) busy(room int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return 2*q.count >= q.maxFrames || q.count > 0 && 2*(q.bytes+room) > q.maxBytes
}
