//go:build !linux

package codemode_test

import (
	"testing"
	"time"
)

// processorTime is only known on Linux; elsewhere the clock stands in.
func processorTime(testing.TB) time.Duration { return time.Since(processStart) }

var processStart = time.Now()
