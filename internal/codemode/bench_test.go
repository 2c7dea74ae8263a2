package codemode_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/codemode"
	"github.com/dsh-acp/dsh-acp/internal/codemode/runner"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// typical is what models write: 40 lines, 12 calls, some of them at once, a
// caught failure, and a result of a few lines.
const typical = `interface Finding { file: string; line: number; text: string }

enum Level { Note, Warning }

const files = ["a.ts", "b.ts", "c.ts", "d.ts", "e.ts"];
const findings: Finding[] = [];

async function scan(file: string): Promise<void> {
  const source = await tools.echo({ value: { file, lines: Array.from({ length: 40 }, (_, i) => i % 7 ? "code" : "// TODO " + i) } });
  source.lines.forEach((text: string, i: number) => {
    if (/TODO/.test(text)) findings.push({ file, line: i + 1, text });
  });
}

await Promise.all(files.map(scan));

for (const file of files.slice(0, 3)) {
  const header = await tools.echo({ value: file.toUpperCase() });
  console.log(header, findings.filter((f) => f.file === file).length);
}

let level = Level.Note;
try {
  await tools.fail({ message: "no such file" });
} catch (e) {
  if (!(e instanceof ToolCallError)) throw e;
  level = Level.Warning;
}

const byFile = Object.groupBy(findings, (f) => f.file);
const summary = Object.entries(byFile).map(([file, list]) => ({
  file,
  count: list!.length,
  first: list!.at(0)!.line,
}));

await tools.write({ id: "report", ms: 0 });
const [one, two] = await Promise.all([tools.echo({ value: 1 }), tools.echo({ value: 2 })]);
console.log("done", one + two, Level[level]);
return summary;
`

// The rows of the table that go through the bridge: every call with its policy,
// its validation and its events, here to a log on disk as in a session. Workers
// are ready when the clock runs, as they are in a session.
func BenchmarkRun(b *testing.B) {
	programs := []struct {
		name, text string
		calls      int
	}{
		{"return_1", "return 1", 0},
		{"calls_100", loop(100), 100},
		{"calls_10000", loop(10_000), 10_000},
		{"at_once_10000", "await Promise.all(Array.from({ length: 10000 }, () => tools.noop({}))); return 1", 10_000},
		{"typical", typical, 12},
	}
	for _, p := range programs {
		for _, where := range []struct {
			name string
			mode runner.Mode
		}{{"child", runner.Child}, {"in_process", runner.InProcess}} {
			for _, log := range []string{"memory", "disk"} {
				b.Run(p.name+"/"+where.name+"/"+log, func(b *testing.B) {
					engine := sharedRunner(where.mode)
					w := benchWorld(b, engine, log == "disk")
					b.ReportAllocs()
					before := processorTime(b)
					for b.Loop() {
						b.StopTimer()
						w.mu.Lock()
						w.events, w.bodies = nil, nil
						w.mu.Unlock()
						if where.mode == runner.Child {
							if err := engine.Warm(context.Background()); err != nil {
								b.Fatal(err)
							}
						}
						b.StartTimer()
						if r := w.run(context.Background(), p.text); r.IsError() {
							b.Fatal(r.Text())
						}
					}
					// Starting the workers is in it, and what they compute.
					b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
					if p.calls > 0 {
						b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*p.calls), "µs/call")
					}
				})
			}
		}
	}
}

// What the bridge adds to the pipeline: 100 calls one after the other, made by an
// engine without a VM, beside the same calls made natively.
func BenchmarkBridge(b *testing.B) {
	const calls = 100
	args := jsonvalue.Object()
	sequence := script(func(ctx context.Context, h runner.Host) runner.Outcome {
		replies := make(chan runner.Reply, 1)
		for n := range calls {
			h.Submit(ctx, runner.Call{N: n + 1, Name: "noop", Arguments: args, Line: 1}, func(r runner.Reply) { replies <- r })
			if r := <-replies; r.Failed {
				return runner.Outcome{Failure: &runner.Failure{Kind: runner.KindException, Message: r.Message}}
			}
		}
		return runner.Outcome{OK: true}
	})
	measure := func(b *testing.B, f func()) {
		b.ReportAllocs()
		before := processorTime(b)
		for b.Loop() {
			f()
		}
		b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/1e3/float64(b.N*calls), "cpu-µs/call")
	}
	for _, log := range []string{"memory", "disk"} {
		b.Run("bridge/"+log, func(b *testing.B) {
			w := benchWorld(b, sequence, log == "disk")
			measure(b, func() {
				w.events = w.events[:0]
				if r := w.run(context.Background(), "loop"); r.IsError() {
					b.Fatal(r.Text())
				}
			})
		})
	}
	b.Run("pipeline_alone", func(b *testing.B) {
		w := benchWorld(b, sequence, false)
		if _, err := w.scope.PresentAs(registry.ModeBoth); err != nil {
			b.Fatal(err)
		}
		measure(b, func() {
			for range calls {
				if r := w.pipe.Execute(context.Background(), pipeline.Call{ID: "n", Name: "noop", Arguments: args, Agent: w, Emit: w.emit}); r.IsError() {
					b.Fatal(r.Text())
				}
			}
		})
	})
}

func loop(n int) string {
	return fmt.Sprintf("for (let i = 0; i < %d; i++) await tools.noop({}); return 1", n)
}

// benchWorld is a world with a tool that does nothing, and perhaps a log on disk.
func benchWorld(b *testing.B, engine codemode.Engine, disk bool) *world {
	w := newWorld(b, worldOptions{engine: engine, tools: []registry.Definition{{
		Name: "noop", Parameters: schema.Params{}, Output: registry.Output{Schema: anyJSON(), Render: jsonText},
		Execute: func(context.Context, jsonvalue.Value, registry.Run) (jsonvalue.Value, error) {
			return jsonvalue.Null(), nil
		},
	}}})
	if disk {
		store := session.NewStore(b.TempDir(), session.Options{})
		log, err := store.Create(session.Header{Cwd: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = log.Close() })
		w.disk = log
	}
	return w
}
