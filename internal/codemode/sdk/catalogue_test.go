package sdk

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func searchTools(t testing.TB) []Tool {
	return []Tool{
		{Name: "github_create_issue", Description: "Open a new issue in a repository.", Parameters: parse(t, `{"properties":{"title":{},"assignees":{"description":"People to assign"}}}`)},
		{Name: "github_list_issues", Description: "List the issues of a repository.", Parameters: parse(t, `{"properties":{"state":{}}}`)},
		{Name: "createPullRequest", Description: "Propose a branch for merging. It mentions every issue it closes.", Parameters: parse(t, `{"properties":{"base":{},"head":{}}}`)},
		{Name: "slack.post-message", Description: "Send a message to a channel.", Parameters: parse(t, `{"properties":{"channel":{},"text":{}}}`)},
		{Name: "read", Description: "Read a file.", Parameters: parse(t, `{"properties":{"file_path":{}}}`)},
		{Name: "read_many", Description: "Read files, issue after issue, read them all.", Parameters: parse(t, `{}`)},
	}
}

func names(ms []Match) []string {
	out := []string{}
	for _, m := range ms {
		out = append(out, m.Name)
	}
	return out
}

func TestSearch(t *testing.T) {
	c := NewCatalogue(searchTools(t))
	for _, x := range []struct {
		query string
		want  []string // the first results, in this order
		only  bool     // and no others
	}{
		{"create issue", []string{"github_create_issue"}, false},
		{"list ISSUES", []string{"github_list_issues"}, false},
		{"pull request", []string{"createPullRequest"}, true},
		{"post message to channel", []string{"slack.post-message"}, false},
		{"assignee", []string{"github_create_issue"}, true},
		{"file_path", []string{"read"}, false},
		{"read", []string{"read", "read_many"}, true},
		{"slack.post-message", []string{"slack.post-message"}, true},
		{"repo", []string{"github_create_issue", "github_list_issues"}, true},
		{"nothing like it xyzzy", []string{}, true},
		{"", []string{"createPullRequest", "github_create_issue", "github_list_issues", "read"}, false},
		{" ?! ", []string{"createPullRequest", "github_create_issue"}, false},
	} {
		t.Run(x.query, func(t *testing.T) {
			got := names(c.Search(x.query, 0))
			if len(got) < len(x.want) || !slices.Equal(got[:len(x.want)], x.want) || x.only && len(got) > len(x.want) {
				t.Errorf("got %v, want %v", got, x.want)
			}
		})
	}
}

func TestSearchLimit(t *testing.T) {
	c := NewCatalogue(manyTools(100))
	if n := len(c.Search("issue", 0)); n != DefaultResults {
		t.Errorf("%d results by default", n)
	}
	if n := len(c.Search("issue", 3)); n != 3 {
		t.Errorf("%d results, asked for 3", n)
	}
	if got := NewCatalogue(nil).Search("x", 0); len(got) != 0 {
		t.Errorf("no tools, yet %v", got)
	}
}

func TestMatchValue(t *testing.T) {
	got := NewCatalogue(searchTools(t)).Search("merging", 0)
	if len(got) != 1 {
		t.Fatalf("got %v", got)
	}
	want := `{"name":"createPullRequest","description":"Propose a branch for merging."}`
	if s := got[0].Value().String(); s != want {
		t.Errorf("got %s, want %s", s, want)
	}
}

func TestDescribe(t *testing.T) {
	c := NewCatalogue(fewTools(t))
	got, err := c.Describe("tracker.create-issue")
	if err != nil {
		t.Fatal(err)
	}
	want := `declare const tools: {
  "tracker.create-issue"(args: {
    title: string;
    parent?: {
      id: number;
      parent?: JsonValue;
    } & Record<string, JsonValue>;
  } & Record<string, JsonValue>): Promise<JsonValue>;
}`
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	mustBeTypeScript(t, got)
}

func TestDescribeUnknown(t *testing.T) {
	c := NewCatalogue(searchTools(t))
	for name, want := range map[string]string{
		"github_issue_create":    `there is no tool named "github_issue_create"; did you mean "github_create_issue"`,
		"xyzzy":                  `there is no tool named "xyzzy"; tools.$search finds tools by a few words`,
		"":                       `there is no tool named ""`,
		strings.Repeat("é", 500): `there is no tool named "` + strings.Repeat("é", 99) + `…"`,
	} {
		_, err := c.Describe(name)
		var unknown *UnknownToolError
		if !errors.As(err, &unknown) || unknown.Name != name || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s…", name, err, want)
		}
	}
}

func TestNearest(t *testing.T) {
	c := NewCatalogue(searchTools(t))
	for name, want := range map[string][]string{
		"raed":                {"read"},
		"Read":                {"read"},
		"readMany":            {"read_many"},
		"slack_post_message":  {"slack.post-message"},
		"create_pull_request": {"createPullRequest"},
		"github_list_isues":   {"github_list_issues"},
		"new_issue_in_github": {"github_create_issue"},
		"zzz":                 {},
		"":                    {},
		"_":                   {},
		"éé":                  {},
	} {
		got := c.Nearest(name)
		if len(got) < len(want) || !slices.Equal(got[:len(want)], want) || len(want) == 0 && len(got) > 0 {
			t.Errorf("%q: got %q, want %q first", name, got, want)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "acb", 1}, {"abc", "bc", 1}, {"abc", "xabc", 1}, {"kitten", "sitting", 3}} {
		if got := editDistance(c.a, c.b, 9); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := editDistance(c.b, c.a, 9); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.b, c.a, got, c.want)
		}
	}
	if got := editDistance("a", "abcdef", 2); got <= 2 {
		t.Errorf("over the limit, yet %d", got)
	}
}

func TestSplitWords(t *testing.T) {
	for in, want := range map[string][]string{
		"createPullRequest": {"create", "pull", "request"},
		"HTTPServer2Go":     {"http", "server2", "go"},
		"a-b.c_d/e":         {"a", "b", "c", "d", "e"},
		"Issues of classes": {"issue", "of", "classe"},
		"status process":    {"status", "process"},
		"repositories":      {"repository"},
		"Öl für дом":        {"öl", "für", "дом"},
		"":                  nil,
	} {
		if got := splitWords(in); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzSearch(f *testing.F) {
	c := NewCatalogue(manyTools(50))
	f.Add("create issue")
	f.Add("\xff\xfeÀ 😀 iIİ")
	f.Fuzz(func(t *testing.T, query string) {
		first := c.Search(query, 5)
		if len(first) > 5 {
			t.Fatalf("%d results", len(first))
		}
		if again := c.Search(query, 5); !slices.Equal(first, again) {
			t.Fatalf("%v, then %v", first, again)
		}
		if _, err := c.Describe(query); err != nil && err.Error() == "" {
			t.Fatal("an error without a text")
		}
	})
}

func TestCache(t *testing.T) {
	c := NewCache[string](2)
	built := 0
	get := func(key string) *SDK {
		return c.Get(key, func() ([]Tool, Options) {
			built++
			return []Tool{{Name: key}}, Options{}
		})
	}
	a := get("a")
	if get("a") != a || built != 1 {
		t.Errorf("an unchanged key was built %d times", built)
	}
	if !strings.Contains(a.Section(), "\n  a: unknown;\n") {
		t.Errorf("not the section of the key's tools:\n%s", a.Section())
	}
	get("b")
	get("a")
	get("c") // b was used least recently
	built = 0
	if get("a") != a || built != 0 {
		t.Error("a key in use was dropped")
	}
	if get("b"); built != 1 {
		t.Error("the key that was used least recently was kept")
	}
}

func TestCacheBuildsOnce(t *testing.T) {
	c := NewCache[int](0)
	var built atomic.Int32
	var wg sync.WaitGroup
	start := make(chan struct{})
	got := make([]*SDK, 16)
	for i := range got {
		wg.Go(func() {
			<-start
			got[i] = c.Get(i%2, func() ([]Tool, Options) {
				built.Add(1)
				return manyTools(20), Options{}
			})
			got[i].Catalogue().Search("issue", 0)
		})
	}
	close(start)
	wg.Wait()
	if built.Load() != 2 {
		t.Errorf("built %d times for 2 keys", built.Load())
	}
	for i := range got {
		if got[i] != got[i%2] {
			t.Errorf("request %d got another SDK", i)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{100, 1000} {
		c := NewCatalogue(manyTools(n))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				c.Search("create release label", 0)
			}
		})
	}
}
