package jsonvalue

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// A series gives what Parse gives, whatever came before.
func TestSeriesParsesLikeParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Series
		key := rapid.SampledFrom([]string{"a", "b", "c", "turn", "é"})
		for range 60 {
			text := "{"
			for i := range rapid.IntRange(0, 12).Draw(t, "members") {
				if i > 0 {
					text += ","
				}
				text += fmt.Sprintf(`%q:{%q:%d}`, key.Draw(t, "key"), key.Draw(t, "inner"), i)
			}
			text += "}"
			want, wantErr := Parse([]byte(text))
			got, err := s.Parse([]byte(text))
			if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() || err == nil && got.String() != want.String() {
				t.Fatalf("%s: %v %v, want %v %v", text, got, err, want, wantErr)
			}
			if err == nil && !got.Equal(want) {
				t.Fatalf("%s: not equal", text)
			}
		}
	})
}
