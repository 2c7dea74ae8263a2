package fs

import (
	"bytes"
	"crypto/sha256"
	"strings"
)

// plainText is a text apart from what editors do not hand over: the byte-order
// mark, how lines end, and whether the last one ends. All line ends at the end
// go: an editor that takes off one leaves a text that may end in another.
func plainText(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte(bom))
	if bytes.Contains(data, []byte("\r\n")) {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	return bytes.TrimRight(data, "\n")
}

func sameText(a, b []byte) bool { return bytes.Equal(plainText(a), plainText(b)) }

func hashText(data []byte) textHash { return sha256.Sum256(plainText(data)) }

// restore gives an editor's text the form of the file on disk where the editor
// has taken it off: the byte-order mark, Windows line endings if most lines
// have them, the end of the last line.
func restore(text string, disk []byte) []byte {
	crlf := bytes.Count(disk, []byte("\r\n"))
	if !strings.Contains(text, "\r\n") && 2*crlf > bytes.Count(disk, []byte("\n")) {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if bytes.HasSuffix(disk, []byte("\n")) && text != "" && !strings.HasSuffix(text, "\n") {
		end := "\n"
		if strings.Contains(text, "\r\n") || !strings.Contains(text, "\n") && crlf > 0 {
			end = "\r\n"
		}
		text += end
	}
	if bytes.HasPrefix(disk, []byte(bom)) && !strings.HasPrefix(text, bom) {
		text = bom + text
	}
	return []byte(text)
}
