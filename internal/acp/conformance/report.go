package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// Counts are how many checks ended each way.
type Counts struct {
	Pass   int `json:"pass"`
	Fail   int `json:"fail"`
	Skip   int `json:"skip"`
	Broken int `json:"broken"`
}

// Count counts results.
func Count(results []Result) (c Counts) {
	for _, r := range results {
		switch r.Status {
		case Pass:
			c.Pass++
		case Fail:
			c.Fail++
		case Skip:
			c.Skip++
		case Broken:
			c.Broken++
		}
	}
	return c
}

// Line is one row of the table.
func (r Result) Line() string {
	line := fmt.Sprintf("%-6s %2d  %-19s %s", strings.ToUpper(string(r.Status)), r.ID, r.Section, r.Title)
	if r.Why != "" {
		line += "\n            " + r.Why
	}
	return line
}

// Summary is the last line of the table.
func (c Counts) Summary() string {
	s := fmt.Sprintf("%d of %d items pass, %d fail, %d are skipped", c.Pass, c.Pass+c.Fail+c.Skip+c.Broken, c.Fail, c.Skip)
	if c.Broken > 0 {
		s += fmt.Sprintf("; %d could not be tried", c.Broken)
	}
	return s
}

// WriteJSON writes the results for programs: {"results": […], "counts": {…}},
// with "took" in milliseconds.
func WriteJSON(w io.Writer, results []Result) error {
	type row struct {
		Result
		Took int64 `json:"took"`
	}
	rows := make([]row, len(results))
	for i, r := range results {
		rows[i] = row{r, int64(r.Took / time.Millisecond)}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Results []row  `json:"results"`
		Counts  Counts `json:"counts"`
	}{rows, Count(results)})
}
