//go:build !unix

package worker

// limitCompiler sets nothing here: the parent's clock is the only bound.
func limitCompiler(uint64, uint64) {}
