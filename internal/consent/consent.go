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

// Store keeps one empty file a consent or refusal, in a folder of ours. Its zero
// value remembers nothing.
type Store struct{ Dir string }

// refused ends the name of the file that remembers a refusal.
const refused = ".never"

// Key names a content at its place: what it is, where it lies, and its bytes.
func Key(kind, path string, content []byte) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\x00%s\x00", kind, path)
	sum.Write(content)
	return hex.EncodeToString(sum.Sum(nil))
}

// Allowed says whether there is consent.
func (s Store) Allowed(key string) bool { return s.has(key) }

// Refused says whether a person wants never to be asked about this content.
func (s Store) Refused(key string) bool { return s.has(key + refused) }

func (s Store) has(name string) bool {
	if s.Dir == "" {
		return false
	}
	info, err := os.Lstat(filepath.Join(s.Dir, name))
	return err == nil && info.Mode().IsRegular()
}

// Allow remembers consent; it takes a refusal's place.
func (s Store) Allow(keys ...string) error { return s.remember("", refused, keys) }

// Refuse remembers that this content is never to run, and nobody is to be asked
// about it. It takes a consent's place.
func (s Store) Refuse(keys ...string) error { return s.remember(refused, "", keys) }

// remember writes a file for each key and removes its opposite, which goes first:
// both may not be there at once and mean a yes.
func (s Store) remember(is, not string, keys []string) error {
	if s.Dir == "" {
		return errors.New("there is no folder to remember consent in")
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("consent cannot be remembered: %w", err)
	}
	for _, key := range keys {
		if err := s.remove(key + not); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(s.Dir, key+is), nil, 0o600); err != nil {
			return fmt.Errorf("consent cannot be remembered: %w", err)
		}
	}
	return nil
}

// Revoke forgets consent and refusal: whoever can be asked is asked again.
func (s Store) Revoke(keys ...string) error {
	if s.Dir == "" {
		return nil
	}
	for _, key := range keys {
		if err := errors.Join(s.remove(key), s.remove(key+refused)); err != nil {
			return err
		}
	}
	return nil
}

func (s Store) remove(name string) error {
	if err := os.Remove(filepath.Join(s.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("consent cannot be forgotten: %w", err)
	}
	return nil
}
