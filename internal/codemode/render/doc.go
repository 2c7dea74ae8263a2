// Package render turns what a Code Mode program left behind — its log entries
// and its result — into the text the model reads, and accounts for its size.
//
// Sizes are those of JavaScript's JSON.stringify: the limit is a promise about
// the JSON of the outcome, not about the text or about memory.
package render
