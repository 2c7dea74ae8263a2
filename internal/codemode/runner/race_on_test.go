//go:build race

package runner

// slow says that the race detector makes everything slower and larger.
const slow = true
