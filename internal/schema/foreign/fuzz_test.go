package foreign

import (
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// FuzzSchema holds the library to the promise that nothing from outside
// panics or runs away.
func FuzzSchema(f *testing.F) {
	f.Add(`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object","properties":{"k":{"$ref":"#"}}}}}`, `{"k":{"k":1}}`)
	f.Add(`{"$schema":"http://json-schema.org/draft-07/schema#","pattern":"^(?!a)","format":"date"}`, `"b"`)
	f.Add(`{"multipleOf":0.1,"not":{"const":1}}`, `1e-999999`)
	f.Fuzz(func(t *testing.T, schemaText, valueText string) {
		s, err := jsonvalue.Parse([]byte(schemaText))
		if err != nil {
			return
		}
		js, err := Compile(s)
		if err != nil {
			return
		}
		v, err := jsonvalue.Parse([]byte(valueText))
		if err != nil {
			return
		}
		if got := js.Validate(v); got != nil && len(got) == 0 {
			t.Fatal("refused without a violation")
		}
	})
}
