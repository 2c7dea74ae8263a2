// Package sdk writes what a model reads about the tools it can call from a
// Code Mode program: the typed declaration of every visible tool, the
// instructions around it, and — when the declarations would not fit a prompt —
// a one-line index with a catalogue that answers search and describe requests.
//
// Everything here is a pure function of its input. The text is the same to the
// byte for the same tools in any order, so a provider's prompt cache stays warm,
// and no schema makes it fail: what TypeScript cannot say degrades to JsonValue
// or unknown at the node concerned, and its neighbours keep their types.
package sdk
