//go:build !linux

package pipeline_test

import (
	"testing"
	"time"
)

var started = time.Now()

func threadTime(testing.TB) time.Duration { return time.Since(started) }
