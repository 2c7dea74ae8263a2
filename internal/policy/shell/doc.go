// Package shell understands a command line as far as permission rules need:
// which simple commands it runs, what surrounds them, and what stays unknown
// until the shell runs. It never guesses: what it cannot vouch for is said to
// be unsure, and the policy asks.
//
// The parser is mvdan.cc/sh. On top of it this package removes quoting, so
// that r\m, "rm" and $'rm' are one word; looks through programs that run
// other programs, so that a denial holds behind env, sudo or bash -c; and
// marks what an allow rule must spell out: redirections that write,
// assignments, and those very programs.
package shell
