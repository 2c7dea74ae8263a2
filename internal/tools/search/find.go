package search

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
)

// searchJob is one search through files.
type searchJob struct {
	query *query
	root  string
	files []string // relative to root, in the order of the answer
	lines int      // how many matching lines of all to keep
	any   bool     // whether a file has a match is enough
	rg    *ripgrep
	skips *skips
}

// outcome is what a search found. Counts and totals are of everything, however
// little of it is kept.
type outcome struct {
	files []fileCount // those with matches, in order
	hits  []fileHits  // the first lines, in order
	total int         // matching lines
}

type fileCount struct {
	index int // in the list of files
	count int
}

type fileHits struct {
	index int
	hits  []hit
}

// run searches all files, several at a time.
func (j *searchJob) run(ctx context.Context) (outcome, error) {
	c := &collector{limit: j.lines, cutoff: len(j.files)}
	batch, expression := 8, ""
	useRg := j.rg != nil && len(j.files) >= fewFiles && j.rg.find() != ""
	if useRg {
		if expression, useRg = j.query.rustExpression(); useRg {
			batch = min(batchFiles, max(fewFiles/2, (len(j.files)+workers()-1)/workers()))
		}
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers(), (len(j.files)+batch-1)/batch) {
		wg.Go(func() {
			s := newScanner(j.query)
			for ctx.Err() == nil {
				end := int(next.Add(int64(batch)))
				begin := end - batch
				if begin >= len(j.files) {
					return
				}
				j.batch(ctx, s, c, begin, min(end, len(j.files)), useRg, expression)
			}
		})
	}
	wg.Wait()
	if err := ended(ctx); err != nil {
		return outcome{}, err
	}
	return c.outcome(), nil
}

// batch searches the files from begin to end.
func (j *searchJob) batch(ctx context.Context, s *scanner, c *collector, begin, end int, useRg bool, expression string) {
	var may map[string]bool
	for i := begin; i < end && ctx.Err() == nil; {
		stop := end
		may = nil
		if useRg {
			stop = i
			for size := 0; stop < end && size < batchBytes(); stop++ {
				size += len(j.files[stop]) + 3
			}
			if found, ok := j.rg.candidates(ctx, j.root, expression, j.query.multiline, j.files[i:stop]); ok {
				may = found
			}
		}
		for ; i < stop && ctx.Err() == nil; i++ {
			if file := j.files[i]; may == nil || may[file] || !plain(file) {
				j.one(ctx, s, c, i)
			}
		}
	}
}

// one searches a file.
func (j *searchJob) one(ctx context.Context, s *scanner, c *collector, i int) {
	w := wish{any: j.any, lines: c.wanted(i)}
	f, err := s.file(ctx, filepath.Join(j.root, filepath.FromSlash(j.files[i])), w)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		j.skips.add(j.files[i], reason(err))
		return
	case f.note != "" && (f.note != noteBinary || len(j.files) == 1):
		j.skips.add(j.files[i], f.note)
	}
	if f.count > 0 {
		c.add(i, f)
	}
}

// collector keeps the first lines in the order of the files, however the
// searches of the files end, in memory bounded by what is kept in the end.
type collector struct {
	limit int

	mu     sync.Mutex
	counts []fileCount
	kept   []fileHits // in order
	lines  int        // in kept
	cutoff int        // lines of files from here on are not needed
	total  int
}

// wanted is how many lines of a file can still matter.
func (c *collector) wanted(i int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i >= c.cutoff {
		return 0
	}
	return c.limit
}

func (c *collector) add(i int, f found) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total += f.count
	c.counts = append(c.counts, fileCount{i, f.count})
	if len(f.hits) == 0 || i >= c.cutoff {
		return
	}
	at, _ := slices.BinarySearchFunc(c.kept, i, func(e fileHits, i int) int { return e.index - i })
	c.kept = slices.Insert(c.kept, at, fileHits{i, f.hits})
	c.lines += len(f.hits)
	// A file whose predecessors fill the answer is not needed, nor any behind it.
	for last := len(c.kept) - 1; c.lines-len(c.kept[last].hits) >= c.limit; last-- {
		c.lines -= len(c.kept[last].hits)
		c.cutoff = c.kept[last].index
		c.kept[last] = fileHits{}
		c.kept = c.kept[:last]
	}
}

func (c *collector) outcome() outcome {
	slices.SortFunc(c.counts, func(a, b fileCount) int { return a.index - b.index })
	o := outcome{files: c.counts, hits: c.kept, total: c.total}
	if over := c.lines - c.limit; over > 0 {
		last := &o.hits[len(o.hits)-1]
		last.hits = last.hits[:len(last.hits)-over]
	}
	return o
}
