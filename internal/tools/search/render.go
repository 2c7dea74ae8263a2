package search

import (
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

const narrow = "(The complete result could not be saved; narrow pattern, path or include to see more.)"

func renderGrep(args, value jsonvalue.Value) ([]content.Block, error) {
	var b strings.Builder
	files, _ := value.Get("totalFiles").Int64()
	switch mode := args.GetString("output_mode"); {
	case files == 0:
		b.WriteString("No matches found")
	case mode == modeFiles || mode == modeCount:
		renderFiles(&b, args, value, int(files), mode == modeCount)
	default:
		renderMatches(&b, value)
	}
	b.WriteString(renderSkipped(value))
	return []content.Block{content.Text(b.String())}, nil
}

func renderFiles(b *strings.Builder, args, value jsonvalue.Value, total int, counts bool) {
	limit, err := count(args, "limit", 1, defaultLimit, maxLimit)
	if err != nil {
		limit = defaultLimit
	}
	list := value.Get("files")
	shown := min(list.Len(), limit)
	if shown < total {
		fmt.Fprintf(b, "Found %d of %d files", shown, total)
	} else {
		fmt.Fprintf(b, "Found %s", plural(total, "file", "files"))
	}
	if n, ok := value.Get("total").Int64(); ok && counts {
		fmt.Fprintf(b, " with %s in all", plural(int(n), "match", "matches"))
	}
	b.WriteString("\n")
	for i := range shown {
		f := list.At(i)
		b.WriteString("\n" + f.GetString("path"))
		if n, ok := f.Get("count").Int64(); ok && counts {
			fmt.Fprintf(b, ": %d", n)
		}
	}
	if shown < total {
		b.WriteString("\n\n" + narrow)
	}
}

func renderMatches(b *strings.Builder, value jsonvalue.Value) {
	matches := value.Get("matches")
	total, _ := value.Get("total").Int64()
	if n := matches.Len(); int64(n) < total {
		fmt.Fprintf(b, "Found %d of %d matches\n", n, total)
	} else {
		fmt.Fprintf(b, "Found %s\n", plural(n, "match", "matches"))
	}
	path := ""
	last := 0 // the number of the last line of this file that was written
	for i, m := range matches.Elements() {
		number64, _ := m.Get("lineNumber").Int64()
		number := int(number64)
		if p := m.GetString("path"); i == 0 || p != path {
			b.WriteString("\n" + p + "\n")
			path, last = p, 0
		}
		before, after := m.Get("before"), m.Get("after")
		first := number - before.Len()
		if (!before.IsUndefined() || !after.IsUndefined()) && last > 0 && max(first, last+1) > last+1 {
			b.WriteString("--\n")
		}
		for j, line := range before.Elements() {
			if n := first + j; n > last {
				writeContext(b, n, line)
			}
		}
		if number > last {
			writeMatch(b, number, m)
			last = number
		}
		// Lines that match themselves come as matches.
		next := number + after.Len() + 1
		if i+1 < matches.Len() && matches.At(i+1).GetString("path") == path {
			n, _ := matches.At(i + 1).Get("lineNumber").Int64()
			next = min(next, int(n))
		}
		for j, line := range after.Elements() {
			if n := number + 1 + j; n < next {
				writeContext(b, n, line)
				last = n
			}
		}
	}
	if int64(matches.Len()) < total {
		b.WriteString("\n" + narrow)
		return
	}
	text := strings.TrimSuffix(b.String(), "\n")
	b.Reset()
	b.WriteString(text)
}

func writeMatch(b *strings.Builder, number int, m jsonvalue.Value) {
	fmt.Fprintf(b, "Line %d: %s", number, m.GetString("line"))
	if cut, _ := m.Get("lineTruncated").Bool(); cut {
		b.WriteString(lineCut)
	}
	b.WriteByte('\n')
}

func writeContext(b *strings.Builder, number int, line jsonvalue.Value) {
	text, _ := line.Str()
	fmt.Fprintf(b, "Line %d- %s\n", number, text)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
