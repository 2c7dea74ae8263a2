//go:build !unix

package wire

func stdoutChild(string) {}
