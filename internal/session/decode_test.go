package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

const testHeader = `{"type":"session","version":0,"id":"s1","createdAt":5,"cwd":"/w","delegationDepth":0}` + "\n"

func TestDecodeKeepsWhatItDoesNotKnow(t *testing.T) {
	log := `{"type":"session","version":1,"id":"s1","createdAt":5,"cwd":"/w","parentSession":"p","seedLength":1,"delegationDepth":2,"label":{"x":1}}` + "\n" +
		`{"type":"future/thing","seq":0,"time":7,"data":{"big":12345678901234567890},"note":"n"}` + "\n" +
		`{"type":"fs/observed","seq":1,"time":8,"data":[1],"sourceEventSeqs":[0]}` + "\n"
	h, events, err := Decode(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	diffLines(t, log, lines(h, events))
	if h.ParentSession != "p" || h.SeedLength != 1 || h.DelegationDepth != 2 || h.CreatedAt.UnixMilli() != 5 {
		t.Errorf("header %+v", h)
	}
}

func TestDecodeFaults(t *testing.T) {
	event := func(seq int) string { return fmt.Sprintf(`{"type":"x/y","seq":%d,"time":1,"data":{}}`, seq) + "\n" }
	row := func(kind, head, data string) string {
		return fmt.Sprintf(`{"type":%q,%s,"data":{%s}}`, kind, head, data) + "\n"
	}
	const head = `"seq0":0,"time0":1`
	const base = `"turn":1,"step":1,"index":0,`
	tests := []struct{ name, log, line, want string }{
		{"empty", "", "1", "no session header"},
		{"not a header", event(0), "1", "not a session header"},
		{"array", "[]\n", "1", "must be an object"},
		{"header cut", `{"type":"session","vers`, "1", "JSON"},
		{"newer version", `{"type":"session","version":2,"id":"x","createdAt":1}` + "\n", "1", "newer dsh-acp"},
		{"no version", `{"type":"session","id":"x","createdAt":1}` + "\n", "1", "no version"},
		{"no id", `{"type":"session","version":1}` + "\n", "1", "no id"},
		{"header field", `{"type":"session","version":1,"id":3}` + "\n", "1", "id is not a string"},
		{"header number", `{"type":"session","version":"1","id":"x"}` + "\n", "1", "version is not"},
		{"header time", `{"type":"session","version":1,"id":"x","createdAt":"now"}` + "\n", "1", "createdAt"},
		{"torn in the middle", testHeader + `{"type":"x/y","se` + "\n" + event(1), "2", "JSON"},
		{"torn line that ends", testHeader + event(0) + `{"type":` + "\n", "3", "JSON"},
		{"blank line", testHeader + "\n" + event(0), "2", "JSON"},
		{"newest dialect", testHeader + `{"type":"turn/start","data":{}}` + "\n", "2", "newest harness"},
		{"no seq", testHeader + `{"type":"x","time":1,"data":{}}` + "\n", "2", "seq is not"},
		{"no time", testHeader + `{"type":"x","seq":0,"data":{}}` + "\n", "2", "time is not"},
		{"fractional time", testHeader + `{"type":"x","seq":0,"time":1.5,"data":{}}` + "\n", "2", "time is not"},
		{"no data", testHeader + `{"type":"x","seq":0,"time":1}` + "\n", "2", "no data"},
		{"no type", testHeader + `{"seq":0,"time":1,"data":{}}` + "\n", "2", "no type"},
		{"type", testHeader + `{"type":3,"seq":0,"time":1,"data":{}}` + "\n", "2", "type is not"},
		{"hole", testHeader + event(0) + event(2), "3", "seq is 2 where 1 must follow"},
		{"twice", testHeader + event(0) + event(0), "3", "seq is 0 where 1 must follow"},
		{"source ahead", testHeader + `{"type":"x","seq":0,"time":1,"data":{},"sourceEventSeqs":[0]}` + "\n", "2", "not the seq of an earlier"},
		{"sources", testHeader + `{"type":"x","seq":0,"time":1,"data":{},"sourceEventSeqs":{}}` + "\n", "2", "not an array"},
		{"row: extra key", testHeader + row("text-chunks", head+`,"x":1`, base+`"dt":[],"texts":["a"]`), "2", "members beyond"},
		{"row: extra data key", testHeader + row("text-chunks", head, base+`"dt":[],"texts":["a"],"x":1`), "2", "members beyond"},
		{"row: name on text", testHeader + row("text-chunks", head, base+`"dt":[],"texts":["a"],"name":"n"`), "2", "members beyond"},
		{"row: no step", testHeader + row("text-chunks", head, `"turn":1,"index":0,"dt":[],"texts":["a"]`), "2", `no "step"`},
		{"row: empty", testHeader + row("reasoning-chunks", head, base+`"dt":[],"texts":[]`), "2", "array with members"},
		{"row: dt too long", testHeader + row("text-chunks", head, base+`"dt":[1],"texts":["a"]`), "2", "0 gaps"},
		{"row: dt too short", testHeader + row("text-chunks", head, base+`"dt":[],"texts":["a","b"]`), "2", "1 gaps"},
		{"row: fraction", testHeader + row("text-chunks", head, base+`"dt":[0.5],"texts":["a","b"]`), "2", "dt[0]"},
		{"row: unsafe", testHeader + row("text-chunks", `"seq0":0,"time0":9007199254740993`, base+`"dt":[],"texts":["a"]`), "2", "time0 is not a safe"},
		{"row: overflow", testHeader + row("text-chunks", `"seq0":0,"time0":9007199254740991`, base+`"dt":[1],"texts":["a","b"]`), "2", "leave the range"},
		{"row: seq0", testHeader + row("text-chunks", `"seq0":1,"time0":1`, base+`"dt":[],"texts":["a"]`), "2", "seq0 is 1 where 0"},
		{"row: texts", testHeader + row("text-chunks", head, base+`"dt":[],"texts":[1]`), "2", "texts[0]"},
		{"row: no id", testHeader + row("tool-call-chunks", head, base+`"dt":[],"args":["a"]`), "2", `no "id"`},
		{"row: name", testHeader + row("tool-call-chunks", head, base+`"dt":[],"args":["a"],"id":"i","name":1`), "2", "name is not"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, events, err := Decode(strings.NewReader(tt.log))
			var corrupt *CorruptError
			if !errors.As(err, &corrupt) {
				t.Fatalf("%d events, error %v", len(events), err)
			}
			if fmt.Sprint(corrupt.Line) != tt.line || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v; want line %s, %q", err, tt.line, tt.want)
			}
		})
	}
}

func TestPackedRowsExpand(t *testing.T) {
	log := testHeader +
		`{"type":"tool-call-chunks","seq0":0,"time0":10,"data":{"args":["{","}"],"dt":[-3],"index":2,"step":1,"turn":4,"id":"c"}}` + "\n" +
		`{"type":"tool-call-chunks","seq0":2,"time0":10,"data":{"turn":4,"step":1,"index":2,"dt":[],"id":"c","name":"n","args":[""]}}` + "\n" +
		`{"type":"reasoning-chunks","seq0":3,"time0":11,"data":{"turn":4,"step":1,"index":0,"dt":[1,1],"texts":["a","b","c"]}}`
	h, events, err := Decode(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	diffLines(t, testHeader+strings.Join([]string{
		`{"type":"assistant/chunk","seq":0,"time":10,"data":{"turn":4,"step":1,"chunk":{"type":"tool-call-delta","index":2,"id":"c","argumentsDelta":"{"}}}`,
		`{"type":"assistant/chunk","seq":1,"time":7,"data":{"turn":4,"step":1,"chunk":{"type":"tool-call-delta","index":2,"id":"c","argumentsDelta":"}"}}}`,
		`{"type":"assistant/chunk","seq":2,"time":10,"data":{"turn":4,"step":1,"chunk":{"type":"tool-call-delta","index":2,"id":"c","name":"n","argumentsDelta":""}}}`,
		`{"type":"assistant/chunk","seq":3,"time":11,"data":{"turn":4,"step":1,"chunk":{"type":"reasoning-delta","index":0,"text":"a"}}}`,
		`{"type":"assistant/chunk","seq":4,"time":12,"data":{"turn":4,"step":1,"chunk":{"type":"reasoning-delta","index":0,"text":"b"}}}`,
		`{"type":"assistant/chunk","seq":5,"time":13,"data":{"turn":4,"step":1,"chunk":{"type":"reasoning-delta","index":0,"text":"c"}}}`,
	}, "\n")+"\n", lines(h, events))
}

func TestTornTail(t *testing.T) {
	whole := testHeader + `{"type":"x/y","seq":0,"time":1,"data":{}}` + "\n"
	for _, tail := range []string{"{", `{"type":"x/y","seq":1,"time":1,"data":{}`, "\x00\x00\x00", `{"type":"x/y","seq":7,"time":1,"data":{}}`} {
		rec, err := Read(strings.NewReader(whole + tail))
		if err != nil {
			t.Fatalf("%q: %v", tail, err)
		}
		if rec.Torn == nil || rec.Torn.Line != 3 || rec.Torn.Bytes != int64(len(tail)) || rec.Torn.Reason == "" || len(rec.Events) != 1 {
			t.Errorf("%q: %+v", tail, rec)
		}
	}
	// A whole event that lacks only its newline is kept, and the newline is
	// added on open.
	s := newStore(t, Options{})
	l := create(t, s)
	mustAppend(t, l, prompt("a"))
	_ = l.Close()
	data, _ := os.ReadFile(l.Path())
	if err := os.WriteFile(l.Path(), data[:len(data)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := s.Open(l.Header().ID)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	mustAppend(t, again, prompt("b"))
	if again.Torn() != nil {
		t.Errorf("torn %+v", again.Torn())
	}
	rec, err := ReadFile(l.Path())
	if err != nil || len(rec.Events) != 2 {
		t.Errorf("%+v, %v", rec, err)
	}
}

func TestReadPassesReaderErrorsOn(t *testing.T) {
	r := io.MultiReader(strings.NewReader(testHeader), iotest.ErrReader(io.ErrClosedPipe))
	if _, _, err := Decode(r); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v", err)
	}
}

func TestLongLines(t *testing.T) {
	text := strings.Repeat("x", 300<<10) // longer than any buffer
	e := Event{Type: "x/y", Data: jsonvalue.String(text)}
	_, events, err := Decode(strings.NewReader(testHeader + string(e.AppendLine(nil))))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := events[0].Data.Str(); got != text {
		t.Error("the text changed")
	}
	_, _, err = Decode(io.MultiReader(strings.NewReader(testHeader), strings.NewReader(strings.Repeat("x", MaxLine+1))))
	var corrupt *CorruptError
	if !errors.As(err, &corrupt) || corrupt.Line != 2 {
		t.Errorf("a line beyond the limit: %v", err)
	}
}

// The fast way of reading a line agrees with the slow one wherever it applies.
func TestPlainEventAgrees(t *testing.T) {
	applied := 0
	for _, line := range []string{
		`{"type":"step/end","seq":3,"time":1,"data":{"turn":1}}`,
		`{"type":"step/end","seq":3,"time":1,"data":{"turn":1}} `,
		`{"type":"step/end","seq":3,"time":1,"data":{"turn":1},"note":{}}`,
		`{"type":"step/end","seq":3,"time":1,"data":1,"data":{}}`,
		`{"type":"step/end","seq":3,"time":1,"data":{}}}`,
		`{"type":"step/end","seq":3,"time":1,"data":}`,
		`{"type":"step/end","seq":3,"time":1,"data":{}`,
		`{"type":"step/end","seq":03,"time":1,"data":{}}`,
		`{"type":"step/end","seq":4,"time":1,"data":{}}`,
		`{"type":"step/end","seq":3,"time":-1,"data":{}}`,
		`{"type":"step/end","seq":3,"time":1234567890123456789,"data":{}}`,
		`{"type":"step/end","seq":3,"time":1.0,"data":[]}`,
		`{"type":"user/message","seq":3,"time":1,"data":{}}`,
		`{"type":"other","seq":3,"time":1,"data":{}}`,
		`{"type":"step\/end","seq":3,"time":1,"data":{}}`,
		`{"type": "step/end","seq":3,"time":1,"data":{}}`,
		`{"seq":3,"type":"step/end","time":1,"data":{}}`,
	} {
		fast, ok := plainEvent(&jsonvalue.Series{}, []byte(line), 3)
		if !ok {
			continue
		}
		applied++
		v, err := jsonvalue.ParseString(line)
		if err != nil {
			t.Errorf("%s: the line is not JSON", line)
			continue
		}
		slow, err := eventFromValue(v, 3)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		diffLines(t, string(slow.AppendLine(nil)), string(fast.AppendLine(nil)))
	}
	if applied != 1 {
		t.Errorf("the fast way took %d lines", applied)
	}
}

// checkSettling reads a log as it is opened, and checks that it has, of what
// reading it in full gave, everything that has not done its work.
func checkSettling(t *testing.T, data []byte, rec *Recording, err error) {
	t.Helper()
	settled, serr := (&Recording{settle: true}).read(bytes.NewReader(data))
	if fmt.Sprint(err) != fmt.Sprint(serr) {
		t.Fatalf("read in full: %v; to be opened: %v", err, serr)
	}
	if err != nil {
		return
	}
	last := 0
	for i, e := range rec.Events {
		if settles(e) {
			last = i
		}
	}
	var want []Event
	for i, e := range rec.Events {
		if i >= last || !isChunk(e) {
			want = append(want, e)
		}
	}
	diffLines(t, lines(rec.Header, want), lines(settled.Header, settled.Events))
	if settled.next != int64(len(rec.Events)) || settled.dropped != (len(want) < len(rec.Events)) || settled.size != rec.size ||
		settled.unterminated != rec.unterminated || !reflect.DeepEqual(settled.Torn, rec.Torn) {
		t.Fatalf("opened it is %+v, want %+v", settled, rec)
	}
}

// The texts of messages are not looked at twice, right or wrong.
func TestTextsOfChunksAreRead(t *testing.T) {
	for _, text := range []string{
		`plain`, ``, `ä€😀`, `a\nb\t\"\\\/\b\f\r`, `\u00e9`, `\ud800`, `\x`, `\`, `a"b`, "tab\there", "\xff", `","index":0,"text":"x`,
	} {
		for _, form := range []string{
			`{"turn":1,"step":2,"chunk":{"type":"text-delta","index":0,"text":"%s"}}`,
			`{"turn":1,"step":2,"chunk":{"type":"reasoning-delta","index":12,"text":"%s"}}`,
			`{"turn":1,"step":2,"chunk":{"type":"other-delta","index":0,"text":"%s"}}`,
			`{"turn":01,"step":2,"chunk":{"type":"text-delta","index":0,"text":"%s"}}`,
			`{"turn":1,"step":-2,"chunk":{"type":"text-delta","index":0,"text":"%s"}}`,
			`{"turn":1,"step":2,"chunk":{"type":"text-delta","index":0,"text":"%s"}}}`,
			`{"turn":1,"step":2,"chunk":{"type":"text-delta","index":0,"text":"%s"},"turn":2}`,
		} {
			line := `{"type":"assistant/chunk","seq":0,"time":5,"data":` + fmt.Sprintf(form, text) + "}\n"
			for _, after := range []string{"", `{"type":"turn/end","seq":1,"time":6,"data":{}}` + "\n", `{"type":"turn/en`} {
				data := []byte(testHeader + line + after)
				rec, err := Read(bytes.NewReader(data))
				checkSettling(t, data, rec, err)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(testHeader + `{"type":"assistant/chunk","seq":0,"time":1,"data":{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":"a\\n"}}}` + "\n" + `{"type":"turn/end","seq":1,"time":1,"data":{}}` + "\n"))
	f.Add([]byte(testHeader))
	f.Add([]byte(testHeader + `{"type":"x/y","seq":0,"time":1,"data":{},"extra":1}` + "\n" + `{"type":"x`))
	f.Add([]byte(testHeader + `{"type":"tool-call-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[1],"id":"i","name":"n","args":["{","}"]}}` + "\n"))
	f.Add([]byte(testHeader + `{"type":"context/message","seq":0,"time":1,"data":{"content":[{"type":"text","text":"a"}]},"surfaceOp":{"op":"replace","start":0,"end":0}}` + "\n"))
	files, _ := filepath.Glob("testdata/*.jsonl")
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rec, err := Read(strings.NewReader(string(data)))
		checkSettling(t, data, rec, err)
		if err != nil {
			return
		}
		for i, e := range rec.Events {
			if e.Seq != int64(i) {
				t.Fatalf("event %d has seq %d", i, e.Seq)
			}
		}
		for _, line := range strings.Split(string(data), "\n") {
			if e, ok := plainEvent(&jsonvalue.Series{}, []byte(line), 1); ok {
				v, err := jsonvalue.ParseString(line)
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				slow, err := eventFromValue(v, 1)
				if err != nil || string(slow.AppendLine(nil)) != string(e.AppendLine(nil)) {
					t.Fatalf("%s: %v", line, err)
				}
			}
		}
		// What was read is written and read again as the same.
		text := lines(rec.Header, rec.Events)
		h, events, err := Decode(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if again := lines(h, events); again != text {
			t.Fatalf("written again it changes:\n%s\n%s", text, again)
		}
		// Any log can be folded and repaired.
		if err := conversationFault(Messages(rec.Events)); err != nil {
			t.Fatal(err)
		}
		l := NewMemory(rec.Header, Options{})
		l.events = rec.Events
		if _, err := l.AppendAll(Repair(rec.Events)); err != nil {
			t.Fatal(err)
		}
		if Repair(l.Events()) != nil {
			t.Fatal("a repaired log wants repair")
		}
	})
}
