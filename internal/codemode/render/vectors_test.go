package render

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/vectors"
)

type ledgerVector struct {
	vectors.Base
	Function string            `json:"function"`
	Args     []jsonvalue.Value `json:"args"`
	Expect   jsonvalue.Value   `json:"expect"`
}

func TestLedgerVectors(t *testing.T) {
	// count turns a size and whether it fits into what the vectors expect.
	count := func(n int, ok bool) jsonvalue.Value {
		if !ok {
			return jsonvalue.Null()
		}
		return jsonvalue.Int(int64(n))
	}
	vs := vectors.Load[ledgerVector](t, "output-ledger.json")
	vectors.Run(t, vs, nil, func(_ *testing.T, v ledgerVector) error {
		limit, ok := v.Args[1].Int64()
		if !ok {
			return fmt.Errorf("the limit is no integer: %s", v.Args[1])
		}
		text, _ := v.Args[0].Str()
		var got jsonvalue.Value
		switch v.Function {
		case "jsonStringBytesUpTo":
			got = count(StringBytes(text, int(limit)))
		case "jsonValueBytesUpTo":
			got = count(ValueBytes(v.Args[0], int(limit)))
		case "truncateJsonStringBytes":
			got = jsonvalue.StringWTF8(TruncateString(text, int(limit)))
		default:
			return fmt.Errorf("unknown function %q", v.Function)
		}
		if !got.Equal(v.Expect) {
			return fmt.Errorf("%s(%s, %d) = %s, want %s", v.Function, v.Args[0], limit, got, v.Expect)
		}
		return nil
	})
}

// programVector is a recorded program. What it printed and returned, and the
// text made of that, is all this package is about.
type programVector struct {
	vectors.Base
	Expect struct {
		IsError bool            `json:"isError"`
		Text    *string         `json:"text"`
		Value   jsonvalue.Value `json:"value"`

		ErrorCode        json.RawMessage `json:"errorCode"`
		FailureKind      json.RawMessage `json:"failureKind"`
		MessageFirstLine json.RawMessage `json:"messageFirstLine"`
		CapturedOutput   json.RawMessage `json:"capturedOutput"`
		Events           json.RawMessage `json:"events"`
		BodyOrder        json.RawMessage `json:"bodyOrder"`
		Contexts         json.RawMessage `json:"contexts"`
		ConcludesTurn    json.RawMessage `json:"concludesTurn"`
	} `json:"expect"`
	Group, Program, Parity, EventOrder string
	Options                            json.RawMessage
}

func TestProgramVectors(t *testing.T) {
	vs := vectors.Load[programVector](t, "code-mode-programs.json")
	rendered := 0
	vectors.Run(t, vs, nil, func(t *testing.T, v programVector) error {
		if v.Expect.IsError || v.Expect.Text == nil || v.Expect.Value.IsUndefined() {
			t.Skip("no value to render")
		}
		rendered++
		var logs []string
		for _, s := range v.Expect.Value.Get("logs").Elements() {
			text, _ := s.Str()
			logs = append(logs, text)
		}
		result := v.Expect.Value.Get("result")
		if got := Text(logs, result); got != *v.Expect.Text {
			return fmt.Errorf("\n got %q\nwant %q", got, *v.Expect.Text)
		}
		if got := Outcome(logs, result); !got.Equal(v.Expect.Value) {
			return fmt.Errorf("outcome %s, want %s", got, v.Expect.Value)
		}
		return nil
	})
	if rendered == 0 {
		t.Error("no vector with a text and a value")
	}
}
