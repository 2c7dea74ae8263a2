// Package conformance checks an ACP agent from outside: it starts the agent as
// an editor would, over and over, and tries on it the items of a checklist, each
// of them a rule of the protocol or of what editors need. It knows nothing about
// the agent but its command line and a [Profile], which says with which words it
// is made to do something.
//
// Every message of every run is held against the published schema (schema/), by
// a small validator that also finds members which the protocol does not define.
//
// docs/conformance.md is for those who check an agent with it.
package conformance
