// Package consent remembers what a person allowed a workspace to bring along and
// run: by its content and its place, so that what changes, or lies elsewhere, has
// to be allowed again.
package consent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Store keeps one empty file a consent, in a folder of ours. Its zero value
// remembers nothing.
type Store struct{ Dir string }

// Key names a content at its place: what it is, where it lies, and its bytes.
func Key(kind, path string, content []byte) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\x00%s\x00", kind, path)
	sum.Write(content)
	return hex.EncodeToString(sum.Sum(nil))
}

// Allowed says whether there is consent.
func (s Store) Allowed(key string) bool {
	if s.Dir == "" {
		return false
	}
	info, err := os.Lstat(filepath.Join(s.Dir, key))
	return err == nil && info.Mode().IsRegular()
}

// Allow remembers consent.
func (s Store) Allow(keys ...string) error {
	if s.Dir == "" {
		return errors.New("there is no folder to remember consent in")
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("consent cannot be remembered: %w", err)
	}
	for _, key := range keys {
		if err := os.WriteFile(filepath.Join(s.Dir, key), nil, 0o600); err != nil {
			return fmt.Errorf("consent cannot be remembered: %w", err)
		}
	}
	return nil
}

// Revoke forgets consent.
func (s Store) Revoke(keys ...string) error {
	if s.Dir == "" {
		return nil
	}
	for _, key := range keys {
		if err := os.Remove(filepath.Join(s.Dir, key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("consent cannot be forgotten: %w", err)
		}
	}
	return nil
}
