package shell

import (
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// presentationMeta hands the exit status to the card, and the lines that the
// text has about it. They are never read back from the text: a command can print
// anything, a marker too.
func presentationMeta(_, value jsonvalue.Value) (jsonvalue.Value, error) {
	if value.GetString("kind") == "background" {
		return jsonvalue.Value{}, nil
	}
	meta := jsonvalue.Object(
		jsonvalue.Member{Key: "exitCode", Value: value.Get("exitCode")},
		jsonvalue.Member{Key: "signal", Value: value.Get("signal")},
	)
	if lines := markers(value); len(lines) > 0 {
		meta = meta.With("notes", jsonvalue.String(strings.Join(lines, "\n")))
	}
	if files := spilled(value); len(files) > 0 {
		meta = meta.With("files", jsonvalue.Array(files...))
	}
	return meta, nil
}

// spilled names the files that hold what the text lacks.
func spilled(value jsonvalue.Value) (files []jsonvalue.Value) {
	for _, stream := range []string{"stdout", "stderr"} {
		if path := value.Get(stream).GetString("spillPath"); path != "" {
			files = append(files, jsonvalue.Object(
				jsonvalue.Member{Key: "path", Value: jsonvalue.String(path)},
				jsonvalue.Member{Key: "name", Value: jsonvalue.String("full " + stream)},
			))
		}
	}
	return files
}

func presentCall(args jsonvalue.Value) *cards.Call {
	if inBackground(args) {
		return presentBackground(args)
	}
	return &cards.Call{
		Card:        cards.Terminal,
		Title:       args.GetString("command"),
		Kind:        cards.KindExecute,
		Description: args.GetString("description"),
		Cwd:         args.GetString("workdir"),
	}
}

// presentResult shows the text in the call's terminal, for failed calls too:
// an editor that opened a terminal gets its output and sees it end, any other
// reads the text in a console fence.
func presentResult(args jsonvalue.Value, r cards.ResultInput) *cards.Result {
	if inBackground(args) {
		return &cards.Result{Card: cards.Generic, Content: []content.Block{content.Text(cards.Fence("console", content.JoinText(r.Content)))}}
	}
	card := &cards.Result{Card: cards.Terminal, Output: content.JoinText(r.Content)}
	if r.IsError {
		card.Notes = card.Output // a failure is told, not printed by the command
		return card
	}
	card.Notes = r.Meta.GetString("notes")
	if code, ok := r.Meta.Get("exitCode").Int64(); ok {
		exit := int(code)
		card.ExitCode = &exit
	}
	card.Signal = r.Meta.GetString("signal")
	for _, f := range r.Meta.Get("files").Elements() {
		card.Files = append(card.Files, cards.File{Path: f.GetString("path"), Name: f.GetString("name")})
	}
	return card
}
