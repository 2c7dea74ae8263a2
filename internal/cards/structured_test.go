package cards

import "testing"

func TestSearchText(t *testing.T) {
	for _, c := range []struct {
		in         SearchResult
		want, card string
	}{
		{
			SearchResult{Paths: []string{"a", "b"}, Counts: []int{2, 1}, Total: 2},
			"a: 2\nb: 1\n",
			`{"card":"search","shape":"paths","paths":["a","b"],"counts":[2,1],"truncated":false,"total":2}`,
		},
		{
			SearchResult{Note: "(Not or not wholly searched: x (binary file))"},
			"nothing found\n\n(Not or not wholly searched: x (binary file))\n",
			`{"card":"search","shape":"matches","files":[],"truncated":false,"total":0,"note":"(Not or not wholly searched: x (binary file))"}`,
		},
		{
			SearchResult{Paths: []string{"a"}, Total: 3, Truncated: true},
			"a\n\n(showing 1 of 3)\n",
			`{"card":"search","shape":"paths","paths":["a"],"truncated":true,"total":3}`,
		},
	} {
		if got := searchText(&c.in); got != c.want {
			t.Errorf("%+v: %q, want %q", c.in, got, c.want)
		}
		if got := searchCard(&c.in).String(); got != c.card {
			t.Errorf("%+v: %s, want %s", c.in, got, c.card)
		}
	}
}
