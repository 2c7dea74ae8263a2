package httpx

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

// JSON reads what a server sent. Servers do send duplicate keys and text that is
// not UTF-8, which a strict reader refuses; its error is that reader's.
func JSON(data []byte) (jsonvalue.Value, error) {
	v, err := jsonvalue.Parse(data)
	if err == nil {
		return v, nil
	}
	var x any
	if json.Unmarshal(data, &x) != nil {
		return v, err
	}
	return jsonvalue.FromGo(x)
}

// WebPage is the failure for a page where a model's answer should be. hint says
// what to look at first.
func (r *Response) WebPage(hint string) *model.Error {
	page, _ := io.ReadAll(io.LimitReader(r, 64<<10))
	title := ""
	if t := Text(page); t.Message != "" && t.HTML {
		title = fmt.Sprintf(" (%q)", t.Message)
	}
	return &model.Error{Code: "PROTOCOL", Status: r.Status, Message: fmt.Sprintf(
		"%s answered with a web page%s instead of a model's answer: %s, and whether a proxy asks for a login", r.c.Provider, title, hint)}
}
