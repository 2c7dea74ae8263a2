package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// messageSchema holds the published schema, compiled per method.
type messageSchema struct{ params, results map[string]*jsonschema.Schema }

var publishedSchema = sync.OnceValues(func() (*messageSchema, error) {
	raw, err := os.ReadFile(filepath.Join("..", "acp", "conformance", "schema", "v1.json"))
	if err != nil {
		return nil, err
	}
	var top struct {
		Defs map[string]struct {
			Method string `json:"x-method"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(raw, &top); err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	const url = "mem:///acp.json"
	if err := c.AddResource(url, doc); err != nil {
		return nil, err
	}
	m := &messageSchema{map[string]*jsonschema.Schema{}, map[string]*jsonschema.Schema{}}
	for name, def := range top.Defs {
		if def.Method == "" {
			continue
		}
		s, err := c.Compile(url + "#/$defs/" + name)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(name, "Response") {
			m.results[def.Method] = s
		} else {
			m.params[def.Method] = s
		}
	}
	return m, nil
})

// checkTrace validates every message of the agent in a trace of "> json" (client
// to agent) and "< json" lines.
func checkTrace(t *testing.T, path string) {
	t.Helper()
	schema, err := publishedSchema()
	if err != nil || schema == nil {
		t.Fatal("the published schema cannot be used: ", err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	asked := map[string]string{} // the method of each request of the client, by id
	n := 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		dir, line, _ := strings.Cut(lines.Text(), " ")
		var m frame
		if json.Unmarshal([]byte(line), &m) != nil {
			continue // the probe sends rubbish on purpose
		}
		if dir == ">" {
			asked[string(m.ID)] = m.Method
			continue
		}
		n++
		if err := schema.check(m, asked[string(m.ID)]); err != nil {
			t.Errorf("%.300s\n%v", line, err)
		}
	}
	if n == 0 {
		t.Error("the trace holds no message of the agent")
	}
}

// check validates one message of the agent; asked is the method it answers.
func (s *messageSchema) check(m frame, asked string) error {
	which, body := s.params[m.Method], m.Params
	if m.Method == "" {
		which, body = s.results[asked], m.Result
	}
	if which == nil || body == nil {
		return nil
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return which.Validate(v)
}

// The schema that is kept here is the one of the SDK that the client tests run.
func TestTheSchemaIsThePublishedOne(t *testing.T) {
	dir := needClients(t)
	theirs, err := os.ReadFile(filepath.Join(dir, "node_modules", "@agentclientprotocol", "sdk", "schema", "v1", "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile(filepath.Join("..", "acp", "conformance", "schema", "v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(ours, theirs) {
		t.Error("internal/acp/conformance/schema/v1.json is another schema than that of the SDK")
	}
}
