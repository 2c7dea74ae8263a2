package main

import (
	"os"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/codemode/worker"
)

func TestMain(m *testing.M) {
	worker.MaybeWorker() // programs run in this binary, started again
	os.Exit(m.Run())
}
