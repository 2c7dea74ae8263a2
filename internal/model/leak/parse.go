package leak

import (
	"html"
	"regexp"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// Call is a call read from markup.
type Call struct {
	// Name as the model wrote it.
	Name string
	// Arguments is JSON, or what the model wrote in its place.
	Arguments string
}

// Tools is what must be known about the tools of a request.
type Tools interface {
	// Has reports whether the request offers the tool.
	Has(name string) bool
	// ParameterType is the JSON Schema type of a parameter; "" when unknown.
	ParameterType(tool, parameter string) string
}

// parsed is what some markup holds.
type parsed struct {
	calls    []Call
	rest     string // text between and after the calls
	complete bool   // everything that was opened was closed
}

// The tags come in two dialects: with DeepSeek's token in every tag, so that a
// value may hold any other tag; and bare.
type dialect struct {
	invoke, invokeEnd, param, paramEnd, wrap *regexp.Regexp
}

const (
	lt = `(?:<|&lt;)`
	gt = `(?:>|&gt;)`
)

func newDialect(token, optional string) *dialect {
	attr := `\s+name\s*=\s*(?:"([^"]*)"|'([^']*)')`
	end := func(name string) *regexp.Regexp {
		return regexp.MustCompile(`(?i)` + lt + optional + `\s*(?:/\s*` + token + `|` + token + `\s*/)\s*` + name + `\s*` + gt)
	}
	return &dialect{
		invoke:    regexp.MustCompile(`(?i)` + lt + optional + `\s*` + token + `\s*invoke` + attr + `\s*` + gt),
		invokeEnd: end(`invoke`),
		param:     regexp.MustCompile(`(?i)` + lt + optional + `\s*` + token + `\s*parameter` + attr + `(?:\s+string\s*=\s*["']?(true|false)["']?)?[^<>]*?` + gt),
		paramEnd:  end(`parameter`),
		wrap:      regexp.MustCompile(`(?i)` + lt + optional + `\s*/?\s*` + token + `\s*/?\s*(?:function_calls|tool_calls|tool_call|calls)\s*` + gt),
	}
}

// dialects are compiled at first use: most answers leak nothing.
var (
	dsmlToken = `(?:(?:[｜|│∣]\s*)+DSML\s*(?:[｜|│∣]\s*)+|DSML\s*[｜|│∣:_]\s*)`
	anyDSML   = once(func() *regexp.Regexp { return regexp.MustCompile(`(?i)` + dsmlToken) })
	withToken = once(func() *dialect { return newDialect(dsmlToken, `?`) })
	bare      = once(func() *dialect { return newDialect(`(?:antml|minimax)?:?`, ``) })

	legacyToken = once(func() *regexp.Regexp {
		return regexp.MustCompile(lt + `\s*[｜|│∣]+\s*(tool[▁_ ](?:calls?|outputs?|sep)(?:[▁_ ](?:section|argument))?(?:[▁_ ](?:begin|end))?)\s*[｜|│∣]+\s*` + gt)
	})
	toolCallTag = once(func() *regexp.Regexp { return regexp.MustCompile(`(?s)^\s*<tool_call>(.*?)</tool_call>`) })
	functionTag = once(func() *regexp.Regexp { return regexp.MustCompile(`(?s)^\s*<function=([^>\s]+)>(.*?)</function>`) })
	argPair     = once(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)^\s*<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>`)
	})
	plainName = once(func() *regexp.Regexp { return regexp.MustCompile(`^\s*([A-Za-z0-9_.-]+)\s*(?:<arg_key>|$)`) })
	// named finds the tool that markup is about, where arguments follow, however
	// little of the rest can be read.
	named = once(func() *regexp.Regexp {
		return regexp.MustCompile(`"name"\s*:\s*"([^"\\]+)"|invoke\s+name\s*=\s*["']([^"']+)["']\s*>\s*<|<function=([^>\s]+)>\s*[{<]|<tool_call>\s*([A-Za-z0-9_.-]+)\s*<arg_key>`)
	})
	calledName = once(func() *regexp.Regexp { return regexp.MustCompile(`"(?:tool_)?name"\s*:\s*"([^"\\]+)"`) })
	qwenParam  = once(func() *regexp.Regexp { return regexp.MustCompile(`(?s)^\s*<parameter=([^>\s]+)>(.*?)</parameter>`) })
)

// parse reads the calls of some markup.
func parse(text string, tools Tools) parsed {
	if legacyToken().MatchString(text) {
		return parseLegacy(text)
	}
	if anyDSML().MatchString(text) {
		return parseInvokes(text, withToken(), tools, true)
	}
	if strings.Contains(text, "<tool_call>") || strings.HasPrefix(text, "<function=") {
		return parseTagged(text, tools)
	}
	return parseInvokes(text, bare(), tools, false)
}

func parseInvokes(text string, d *dialect, tools Tools, dsml bool) parsed {
	p := parsed{complete: true}
	var rest strings.Builder
	for {
		at := d.invoke.FindStringSubmatchIndex(text)
		if at == nil {
			rest.WriteString(text)
			break
		}
		rest.WriteString(text[:at[0]])
		name := group(text, at, 1)
		text = text[at[1]:]
		args, after, ok := parseParams(text, d, name, tools)
		if !ok {
			p.complete = false
			return p
		}
		p.calls = append(p.calls, Call{Name: name, Arguments: args})
		text = after
	}
	left := d.wrap.ReplaceAllString(rest.String(), "")
	if dsml && anyDSML().MatchString(left) {
		p.complete = false // a tag that was not understood
		return p
	}
	p.rest = strings.TrimSpace(left)
	return p
}

// parseParams reads one invocation up to its end.
func parseParams(text string, d *dialect, tool string, tools Tools) (args, after string, ok bool) {
	var ms []jsonvalue.Member
	plain := ""
	for {
		next := d.param.FindStringSubmatchIndex(text)
		end := d.invokeEnd.FindStringIndex(text)
		if end != nil && (next == nil || end[0] < next[0]) {
			plain += text[:end[0]]
			after = text[end[1]:]
			break
		}
		if next == nil {
			return "", "", false
		}
		plain += text[:next[0]]
		name, kind := group(text, next, 1), ""
		if next[6] >= 0 {
			kind = strings.ToLower(text[next[6]:next[7]])
		}
		escaped := strings.HasPrefix(text[next[0]:], "&lt;")
		text = text[next[1]:]
		close := d.paramEnd.FindStringIndex(text)
		if close == nil {
			return "", "", false
		}
		value := text[:close[0]]
		if escaped {
			value = html.UnescapeString(value)
		}
		text = text[close[1]:]
		ms = append(ms, jsonvalue.Member{Key: name, Value: typed(value, kind, tools.ParameterType(tool, name))})
	}
	plain = strings.TrimSpace(plain)
	switch {
	case plain == "":
		return jsonvalue.Object(ms...).String(), after, true
	case len(ms) == 0:
		// Some write the arguments as JSON; whatever it is, the caller sees it.
		return plain, after, true
	}
	return "", "", false
}

// typed makes a parameter's value of its text: what the tag says it is, else
// what the tool's schema says.
func typed(text, kind, schemaType string) jsonvalue.Value {
	if kind == "true" || kind == "" && schemaType == "string" {
		return jsonvalue.StringWTF8(text)
	}
	if v, err := jsonvalue.ParseString(strings.TrimSpace(text)); err == nil {
		return v
	}
	return jsonvalue.StringWTF8(text)
}

// parseLegacy reads DeepSeek's older tokens:
// begin NAME sep ARGS end, or begin "function" sep NAME, a line break and ARGS
// in a fence.
func parseLegacy(text string) parsed {
	p := parsed{complete: true}
	word := strings.NewReplacer("▁", "_", " ", "_")
	tags := legacyToken().FindAllStringSubmatchIndex(text, -1)
	var rest strings.Builder
	open, from, sep, at := -1, 0, -1, 0
	for _, t := range tags {
		switch word.Replace(text[t[2]:t[3]]) {
		case "tool_call_begin":
			if open >= 0 {
				p.complete = false
				return p
			}
			rest.WriteString(text[at:t[0]])
			open, from, sep = t[0], t[1], -1
		case "tool_sep", "tool_call_argument_begin":
			if open < 0 || sep >= 0 {
				p.complete = false
				return p
			}
			sep = t[0]
			name := strings.TrimSpace(text[from:sep])
			from = t[1]
			p.calls = append(p.calls, Call{Name: bareName(name)})
		case "tool_call_end":
			if open < 0 || sep < 0 {
				p.complete = false
				return p
			}
			finishLegacy(&p.calls[len(p.calls)-1], text[from:t[0]])
			open = -1
		case "tool_calls_begin", "tool_calls_end", "tool_calls_section_begin", "tool_calls_section_end":
			if open >= 0 {
				p.complete = false
				if sep >= 0 {
					p.calls = p.calls[:len(p.calls)-1]
				}
				return p
			}
			rest.WriteString(text[at:t[0]])
		default: // the model plays the tool as well
			p.complete = false
			return p
		}
		at = t[1]
	}
	if open >= 0 {
		p.complete = false
		if sep >= 0 {
			p.calls = p.calls[:len(p.calls)-1]
		}
		return p
	}
	rest.WriteString(text[at:])
	p.rest = strings.TrimSpace(rest.String())
	return p
}

// bareName is the name in "functions.NAME:7", as Kimi's models write it.
func bareName(name string) string {
	inner, ok := strings.CutPrefix(name, "functions.")
	if !ok {
		return name
	}
	if at := strings.LastIndexByte(inner, ':'); at > 0 {
		inner = inner[:at]
	}
	return inner
}

func finishLegacy(c *Call, body string) {
	body = strings.TrimSpace(body)
	if c.Name == "function" {
		if name, args, ok := strings.Cut(body, "\n"); ok {
			c.Name, body = strings.TrimSpace(name), strings.TrimSpace(args)
		} else {
			c.Name, body = body, ""
		}
	}
	if fenced, ok := strings.CutPrefix(body, "```"); ok {
		fenced = strings.TrimPrefix(fenced, "json")
		body = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(fenced), "```"))
	}
	c.Arguments = body
}

// parseTagged reads the JSON or the function tags of other families.
func parseTagged(text string, tools Tools) parsed {
	p := parsed{complete: true}
	for strings.TrimSpace(text) != "" {
		inner := ""
		if m := toolCallTag().FindStringSubmatch(text); m != nil {
			inner, text = m[1], text[len(m[0]):]
		} else if m := functionTag().FindString(text); m != "" {
			inner, text = m, strings.TrimPrefix(strings.TrimSpace(text[len(m):]), "</tool_call>")
		} else {
			break
		}
		c, ok := tagged(inner, tools)
		if !ok {
			p.complete = false
			return p
		}
		p.calls = append(p.calls, c)
	}
	p.rest = strings.TrimSpace(text)
	if strings.Contains(p.rest, "<tool_call>") || strings.Contains(p.rest, "<function=") {
		p.complete = false
	}
	return p
}

func tagged(inner string, tools Tools) (Call, bool) {
	if m := functionTag().FindStringSubmatch(inner); m != nil {
		if body := strings.TrimSpace(m[2]); strings.HasPrefix(body, "{") {
			return Call{Name: m[1], Arguments: body}, true // some write JSON between the tags
		}
		var ms []jsonvalue.Member
		for body := m[2]; strings.TrimSpace(body) != ""; {
			q := qwenParam().FindStringSubmatch(body)
			if q == nil {
				return Call{}, false
			}
			value := strings.TrimSuffix(strings.TrimPrefix(q[2], "\n"), "\n")
			ms = append(ms, jsonvalue.Member{Key: q[1], Value: typed(value, "", tools.ParameterType(m[1], q[1]))})
			body = body[len(q[0]):]
		}
		return Call{Name: m[1], Arguments: jsonvalue.Object(ms...).String()}, true
	}
	if m := plainName().FindStringSubmatch(inner); m != nil && tools.Has(m[1]) {
		return tagPairs(m[1], inner[strings.Index(inner, m[1])+len(m[1]):], tools)
	}
	v, err := jsonvalue.ParseString(strings.TrimSpace(inner))
	if err != nil || v.GetString("name") == "" {
		return Call{}, false
	}
	args := v.Get("arguments")
	if args.IsUndefined() {
		args = v.Get("parameters")
	}
	c := Call{Name: v.GetString("name")}
	if s, ok := args.Str(); ok {
		c.Arguments = s
	} else if !args.IsUndefined() {
		c.Arguments = args.String()
	}
	return c, true
}

// tagPairs reads a name and pairs of arg_key and arg_value, as GLM's models
// write a call.
func tagPairs(name, body string, tools Tools) (Call, bool) {
	var ms []jsonvalue.Member
	for strings.TrimSpace(body) != "" {
		q := argPair().FindStringSubmatch(body)
		if q == nil {
			return Call{}, false
		}
		key := strings.TrimSpace(q[1])
		ms = append(ms, jsonvalue.Member{Key: key, Value: typed(q[2], "", tools.ParameterType(name, key))})
		body = body[len(q[0]):]
	}
	return Call{Name: name, Arguments: jsonvalue.Object(ms...).String()}, true
}

// concerns reports whether markup is about a tool that is offered.
func concerns(text string, tools Tools) bool {
	m := named().FindStringSubmatch(text)
	for _, name := range m[min(1, len(m)):] {
		if name != "" && tools.Has(name) {
			return true
		}
	}
	return false
}

// group gives the double- or single-quoted one of two groups.
func group(s string, at []int, n int) string {
	for _, g := range []int{n, n + 1} {
		if at[2*g] >= 0 {
			return s[at[2*g]:at[2*g+1]]
		}
	}
	return ""
}
