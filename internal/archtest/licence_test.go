package archtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// licences are told by a sentence that each of them has.
var licences = []struct{ name, sentence string }{
	{"MIT", "Permission is hereby granted, free of charge"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software for any purpose"},
	{"ISC", "Permission to use, copy, modify, and distribute this software for any purpose"},
	{"BSD", "Redistribution and use in source and binary forms"},
	{"Apache-2.0", "Apache License"},
	{"MPL-2.0", "Mozilla Public License"},
}

// testOnly are modules under the MPL: they check our code and are in no binary.
var testOnly = []string{"pgregory.net/rapid"}

// TestLicences looks at every module that is compiled into the program, and at
// those that only tests use.
func TestLicences(t *testing.T) {
	seen := map[string]bool{}
	checked := 0
	for _, p := range list(t) {
		m := p.Module
		if m == nil || m.Main || seen[m.Path] {
			continue
		}
		seen[m.Path] = true
		if m.Dir == "" {
			t.Logf("%s is not in the module cache; skipped", m.Path)
			continue
		}
		name := licenceOf(t, m.Dir)
		switch {
		case name == "":
			t.Errorf("%s has no licence that is known here: look at %s, and add its sentence or drop the module", m.Path, m.Dir)
		case name == "MPL-2.0" && !slices.Contains(testOnly, m.Path):
			t.Errorf("%s is under the MPL and in the program: use a module under MIT, BSD, ISC or Apache-2.0", m.Path)
		}
		checked++
	}
	if checked == 0 {
		t.Skip("no module of others is in the module cache")
	}
}

func licenceOf(t *testing.T, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		upper := strings.ToUpper(f.Name())
		if f.IsDir() || !strings.HasPrefix(upper, "LICEN") && !strings.HasPrefix(upper, "COPYING") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(string(data)), " ")
		for _, l := range licences {
			if strings.Contains(strings.ToLower(text), strings.ToLower(l.sentence)) {
				return l.name
			}
		}
	}
	return ""
}
