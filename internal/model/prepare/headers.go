package prepare

import (
	"net/http"
	"strings"
)

// HeaderSecrets are the texts of configured headers that may be keys, so that no
// message repeats them: every value, and what follows a scheme such as Bearer.
// Short values stay readable; nothing is kept secret by a word like "true".
func HeaderSecrets(h http.Header) []string {
	var out []string
	for _, values := range h {
		for _, v := range values {
			if _, rest, ok := strings.Cut(v, " "); ok && len(rest) >= 8 {
				out = append(out, rest)
			}
			if len(v) >= 8 {
				out = append(out, v)
			}
		}
	}
	return out
}
