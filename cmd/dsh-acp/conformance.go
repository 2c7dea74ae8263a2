package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/acp/conformance"
)

const conformanceUsage = `usage: dsh-acp conformance [flags] -- AGENT [ARGUMENTS]

Tries the 85 items of a checklist on any agent that speaks ACP version 1 over
stdio, and prints what passes, fails, and is skipped and why.

flags:
  --profile NAME        how the agent is made to do things: dsh-acp, or nothing
  --prompt PURPOSE=TEXT a prompt that makes the agent do something; repeat it
  --variant NAME=ARGS   arguments with which the agent is started in some other
                        way (no-key, few-steps), or always (an empty name);
                        {home} is a folder for what it stores, {model} the URL
                        of a scripted model server, A=B goes to its environment
  --only N,N            these items only
  --timeout DURATION    how long one answer may take (default 20s)
  --patience FACTOR     how much longer the limits in the items ("within 1 s") may
                        be on this machine (default 1)
  --limit DURATION      how long one item may take (default 2m)
  --trace FILE          write every message to a file
  --json                print the results as JSON
  --list                print the items and the purposes, and try nothing

The exit code is 0 when nothing fails, 1 when something does, 2 when the command
line is wrong. docs/conformance.md explains the purposes.
`

// mcpServerFlag makes this program the MCP server that agents are given.
const mcpServerFlag = "--serve-mcp"

// conformanceArgs is a parsed command line.
type conformanceArgs struct {
	opt               conformance.Options
	prompts, variants []string
	profile, trace    string
	json, list        bool
}

// runConformance checks an agent.
func runConformance(ctx context.Context, e env, args []string) error {
	if len(args) == 2 && args[0] == mcpServerFlag {
		return conformance.ServeMCP(e.stdin, e.stdout, args[1])
	}
	a, err := parseConformance(args)
	if err != nil {
		return err
	}
	if a.list {
		listConformance(e.stdout)
		return nil
	}
	base, ok := conformance.Profiles()[a.profile]
	if !ok && a.profile != "" {
		return usagef("--profile %q: the profiles are %s", a.profile, strings.Join(slices.Sorted(maps.Keys(conformance.Profiles())), ", "))
	}
	if a.opt.Profile, err = conformance.FromFlags(base, a.prompts, a.variants); err != nil {
		return usagef("%v", err)
	}
	if self, err := os.Executable(); err == nil {
		a.opt.MCPServer = []string{self, "conformance", mcpServerFlag}
	}
	if a.trace != "" {
		f, err := os.OpenFile(a.trace, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		a.opt.Trace = f
	}
	if !a.json {
		a.opt.Done = func(r conformance.Result) { fmt.Fprintln(e.stdout, r.Line()) }
	}
	results, err := conformance.Run(ctx, a.opt)
	if err != nil {
		return err
	}
	counts := conformance.Count(results)
	if a.json {
		if err := conformance.WriteJSON(e.stdout, results); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(e.stdout, "\n"+counts.Summary())
	}
	if counts.Fail > 0 || counts.Broken > 0 {
		return fmt.Errorf("%d items fail, %d could not be tried", counts.Fail, counts.Broken)
	}
	return nil
}

func parseConformance(args []string) (a conformanceArgs, err error) {
	for len(args) > 0 {
		flag := args[0]
		args = args[1:]
		name, value, inline := strings.Cut(flag, "=")
		switch flag {
		case "--":
			a.opt.Agent = args
			args = nil
			continue
		case "--help", "-h":
			return a, errHelp
		case "--json":
			a.json = true
			continue
		case "--list":
			a.list = true
			continue
		}
		if !slices.Contains([]string{"--profile", "--prompt", "--variant", "--only", "--timeout", "--limit", "--patience", "--trace"}, name) {
			return a, usagef("conformance: unknown flag %s; the agent's command comes after --", flag)
		}
		if !inline {
			if len(args) == 0 {
				return a, usagef("conformance: %s needs a value", name)
			}
			value, args = args[0], args[1:]
		}
		if err := a.set(name, value); err != nil {
			return a, usagef("conformance: %s %q: %v", name, value, err)
		}
	}
	if len(a.opt.Agent) == 0 && !a.list {
		return a, usagef("conformance: no agent; give its command after --, as in: dsh-acp conformance --profile dsh-acp -- dsh-acp")
	}
	return a, nil
}

func (a *conformanceArgs) set(name, value string) (err error) {
	switch name {
	case "--profile":
		a.profile = value
	case "--prompt":
		a.prompts = append(a.prompts, value)
	case "--variant":
		a.variants = append(a.variants, value)
	case "--trace":
		a.trace = value
	case "--timeout":
		a.opt.Timeout, err = positiveDuration(value)
	case "--patience":
		a.opt.Patience, err = strconv.ParseFloat(value, 64)
		if err != nil || !(a.opt.Patience >= 1 && a.opt.Patience <= 100) {
			err = errors.New("want a number from 1 to 100")
		}
	case "--limit":
		a.opt.Limit, err = positiveDuration(value)
	case "--only":
		for n := range strings.SplitSeq(value, ",") {
			id, err := strconv.Atoi(strings.TrimSpace(n))
			if err != nil || id < 1 || id > 85 {
				return errors.New("want numbers from 1 to 85")
			}
			a.opt.Only = append(a.opt.Only, id)
		}
	}
	return err
}

func positiveDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err == nil && d <= 0 {
		err = errors.New("want a positive duration, such as 30s")
	}
	return d, err
}

func listConformance(w io.Writer) {
	for _, c := range conformance.Checks() {
		fmt.Fprintf(w, "%2d  %-19s %s\n", c.ID, c.Section, c.Title)
	}
	fmt.Fprintln(w, "\npurposes of prompts:")
	for _, p := range conformance.Purposes() {
		fmt.Fprintln(w, "  "+string(p))
	}
}
