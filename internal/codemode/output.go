package codemode

// outputOf is where live output of a program's call goes: to the card of that
// call, if whoever runs the program can tell calls apart.
func (b *bridge) outputOf(c *subCall) func(chunk []byte) {
	to, ok := b.outer.Agent().(interface {
		CallOutput(callID string, chunk []byte)
	})
	if !ok {
		return nil
	}
	return func(chunk []byte) { to.CallOutput(c.id, chunk) }
}
