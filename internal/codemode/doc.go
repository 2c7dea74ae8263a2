// Package codemode is Code Mode's side of the pipeline: the tool run_code, which
// runs a TypeScript program, and the bridge that takes every call the program
// makes through the same stages as a call of the model.
//
// A run has one lane, a goroutine that owns the order of things: it starts calls
// in the order in which the program made them, and makes their results final in
// that order. Only bodies of calls that may overlap run beside it. When the
// program ends, for whatever reason, what runs is aborted, what waits is
// abandoned, and the lane is waited for before run_code returns: no call and no
// event of a run outlives it.
package codemode
