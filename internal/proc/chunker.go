package proc

// chunker passes a stream on as it comes, in pieces of whole characters: what
// a read cut through waits for its rest.
type chunker struct {
	pending []byte
	emit    func([]byte)
}

// write passes p on. The emitted bytes are valid UTF-8 and only good during
// the call.
func (c *chunker) write(p []byte) {
	if len(c.pending) > 0 {
		p = append(c.pending, p...)
		c.pending = nil
	}
	whole := withoutPartialRune(p)
	if rest := p[len(whole):]; len(rest) > 0 {
		c.pending = append([]byte(nil), rest...)
	}
	c.pass(whole)
}

// flush passes on what never became a character.
func (c *chunker) flush() {
	p := c.pending
	c.pending = nil
	c.pass(p)
}

func (c *chunker) pass(p []byte) {
	if len(p) > 0 {
		c.emit(validBytes(p))
	}
}
