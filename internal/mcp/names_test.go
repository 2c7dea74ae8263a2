package mcp

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var valid = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func TestToolName(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, c := range []struct{ server, tool, want string }{
		{"files", "read_file", "mcp__files__read_file"},
		{"a-b", "c", "mcp__a-b__c"},
		{"a", "_b", "mcp__a___b"},
		{"a", "b__c", "mcp__a__b__c"},
		{"a__b", "c", "mcp__a__b__c_a92700ced2"},
		{"a_", "b", "mcp__a___b_a00766a378"},
		{"my server", "x", "mcp__my_server__x_"},
		{"s", "weather.today", "mcp__s__weather_today_"},
		{"s", "größe", "mcp__s__gr____e_"},
		{"s", "t_0123456789", "mcp__s__t_0123456789_"},
		{"s", long, "mcp__s__" + long[:45] + "_"},
		{long, long, "mcp__" + long[:23] + "__" + long[:23] + "_"},
	} {
		got := ToolName(c.server, c.tool)
		if strings.HasSuffix(c.want, "_") && strings.HasPrefix(got, c.want) && len(got) == len(c.want)+hashSize {
			continue
		}
		if got != c.want {
			t.Errorf("%q %q: %s, want %s", c.server, c.tool, got, c.want)
		}
	}
}

// Different tools have different names, all of which every provider takes.
func TestToolNamesAreInjective(t *testing.T) {
	part := rapid.OneOf(rapid.StringMatching(`[a-c_-]{1,6}`), rapid.StringMatching(`[a_.]{0,4}_[0-9a-f]{10}`), rapid.String(), rapid.StringN(60, 90, -1))
	rapid.Check(t, func(t *rapid.T) {
		s1, t1, s2, t2 := part.Draw(t, "server"), part.Draw(t, "tool"), part.Draw(t, "server 2"), part.Draw(t, "tool 2")
		a, b := ToolName(s1, t1), ToolName(s2, t2)
		if !valid.MatchString(a) || !valid.MatchString(b) {
			t.Fatalf("%q %q", a, b)
		}
		if !strings.HasPrefix(a, "mcp__") {
			t.Fatal(a)
		}
		if (a == b) != (s1 == s2 && t1 == t2) {
			t.Fatalf("%q %q and %q %q are %s and %s", s1, t1, s2, t2, a, b)
		}
		// A name that was given is not given again to what is called like it.
		if server, tool, ok := strings.Cut(strings.TrimPrefix(a, "mcp__"), "__"); ok && (server != s1 || tool != t1) && ToolName(server, tool) == a {
			t.Fatalf("%q %q takes the name of %q %q: %s", server, tool, s1, t1, a)
		}
	})
}

func FuzzToolName(f *testing.F) {
	f.Add("files", "read")
	f.Add("a__b", "c_0123456789")
	f.Fuzz(func(t *testing.T, server, tool string) {
		if name := ToolName(server, tool); !valid.MatchString(name) {
			t.Errorf("%q", name)
		}
	})
}

func TestDistinct(t *testing.T) {
	a := Config{Name: "a", Origin: FromUser, Command: "x"}
	same, other, third := a, a, a
	same.Origin = FromClient
	other.Command, third.Command = "y", "z"
	third.Name = "a-2"
	var got []string
	for _, c := range distinct([]Config{a, same, other, third, {Command: "n"}}) {
		got = append(got, c.Name+"="+c.Command)
	}
	if s := strings.Join(got, " "); s != "a=x a-2=y a-2-2=z server=n" {
		t.Error(s)
	}
}
