package fs

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestExtendedAttributesStay(t *testing.T) {
	f := setup(t)
	path := f.put("f", "one\n")
	if err := unix.Setxattr(path, "user.note", []byte("kept"), 0); err != nil {
		t.Skipf("no extended attributes here: %v", err)
	}
	f.read("f")
	f.ok("edit", m{"file_path": "f", "old_string": "one", "new_string": "two"})
	value := make([]byte, 16)
	n, err := unix.Getxattr(path, "user.note", value)
	if err != nil || string(value[:n]) != "kept" {
		t.Errorf("attribute %q, %v", value[:max(n, 0)], err)
	}
}
