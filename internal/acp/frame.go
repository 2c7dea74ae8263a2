package acp

import (
	"fmt"
	"strconv"
	"strings"
)

// framed puts an embedded text between lines that name it; head is what the first
// of them says.
func framed(head, text string) string {
	name := frameName(text)
	return fmt.Sprintf("\n[%s %s]\n%s\n[/%s]\n", name, head, strings.TrimSuffix(text, "\n"), name)
}

// frameName is the name of the frame around a text: "resource", or one with a
// number that is not in the text where the end of such a frame is, so that no text
// can end its frame and go on as if the person had written it. It depends on the
// text alone, since a prompt must read the same each time it is sent.
func frameName(text string) string {
	const end = "[/resource"
	highest := int64(-1) // number of an end in the text; 1 for one without
	for rest := text; ; {
		i := strings.Index(rest, "[/")
		if i < 0 {
			break
		}
		rest = rest[i:]
		if len(rest) < len(end) || !strings.EqualFold(rest[:len(end)], end) {
			rest = rest[len("[/"):]
			continue
		}
		rest = rest[len(end):]
		highest = max(highest, 1, leadingNumber(strings.TrimPrefix(rest, "-")))
	}
	if highest < 0 {
		return "resource"
	}
	return "resource-" + strconv.FormatInt(highest+1, 10)
}

// leadingNumber reads the digits at the beginning of s, the first 15 of them.
func leadingNumber(s string) (n int64) {
	for i := 0; i < min(len(s), 15) && s[i] >= '0' && s[i] <= '9'; i++ {
		n = 10*n + int64(s[i]-'0')
	}
	return n
}
