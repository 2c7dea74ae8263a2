//go:build !race

package worker

// memoryFactor is 1: a limit is what it says.
const memoryFactor = 1
