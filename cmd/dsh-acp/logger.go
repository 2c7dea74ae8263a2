package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/dsh-acp/dsh-acp/internal/config"
)

// newLogger makes the program's log: text on stderr, or JSON lines in the file
// the configuration names. The default logger follows, so that a library that
// prints lands there too.
func newLogger(cfg *config.Config, stderr io.Writer) (*slog.Logger, func(), error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		return nil, nil, fmt.Errorf("log level %q: %w", cfg.Log.Level, err)
	}
	opts := &slog.HandlerOptions{Level: level}
	if cfg.Log.File == "" {
		logger := slog.New(slog.NewTextHandler(stderr, opts))
		slog.SetDefault(logger)
		return logger, func() {}, nil
	}
	f, err := os.OpenFile(cfg.Log.File, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("the log file cannot be written: %w", err)
	}
	logger := slog.New(slog.NewJSONHandler(f, opts))
	slog.SetDefault(logger)
	return logger, func() { _ = f.Close() }, nil
}
