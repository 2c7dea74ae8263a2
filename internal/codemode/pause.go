package codemode

import "context"

// PauseWall stops the wall clock of the program that ctx's call belongs to while
// a person thinks (decision 24); the result starts it again. Outside a program
// it does nothing.
func PauseWall(ctx context.Context) (resume func()) {
	if c, ok := ctx.Value(callKey{}).(*subCall); ok && c.PauseWall != nil {
		return c.PauseWall()
	}
	return func() {}
}
