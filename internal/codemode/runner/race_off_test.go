//go:build !race

package runner

const slow = false
