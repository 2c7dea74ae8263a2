//go:build race

package worker

// memoryFactor makes room for the race detector, whose own memory counts too.
const memoryFactor = 8
