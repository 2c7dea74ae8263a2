package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
)

// encode is json.Marshal without HTML escaping.
func encode(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

// List is an array that is never null on the wire: nil is written as [].
type List[T any] []T

// MarshalJSON writes the array.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return encode([]T(l))
}

// invalid says what is wrong with a message of our own.
func invalid(field, why string) error { return fmt.Errorf("%s %s", field, why) }

func needText(field, value string) error {
	if value == "" {
		return invalid(field, "is empty")
	}
	return nil
}

func needAbs(field, path string) error {
	if !filepath.IsAbs(path) {
		return invalid(field, fmt.Sprintf("%q is not an absolute path", path))
	}
	return nil
}

func oneOf[T ~string](field string, value T, allowed ...T) error {
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	return invalid(field, fmt.Sprintf("%q is not a value of the protocol", string(value)))
}

// each joins the faults of the items of a list.
func each[T interface{ Validate() error }](field string, list []T) error {
	var errs []error
	for i, item := range list {
		if err := item.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("%s[%d].%w", field, i, err))
		}
	}
	return errors.Join(errs...)
}

// ptr gives the address of a copy.
func ptr[T any](v T) *T { return &v }
