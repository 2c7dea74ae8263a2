package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/config"
)

// inFolder reads the arguments of a command about a folder: the flags, of which
// those named in exclusive exclude each other, and at most one folder, else the
// current one. It gives the configuration and the folder, absolute.
func (f *flagSet) inFolder(args []string, exclusive ...string) (*config.Config, string, error) {
	if err := f.parse(args, 1); err != nil {
		return nil, "", err
	}
	given := 0
	f.Visit(func(x *flag.Flag) {
		if slices.Contains(exclusive, x.Name) && x.Value.String() != x.DefValue {
			given++
		}
	})
	if given > 1 {
		last := len(exclusive) - 1
		return nil, "", usagef("%s: --%s and --%s exclude each other", f.Name(), strings.Join(exclusive[:last], ", --"), exclusive[last])
	}
	cfg, err := config.Load(f.options)
	if err != nil {
		return nil, "", err
	}
	cwd, err := folder(f.Arg(0))
	return cfg, cwd, err
}

// folder is the folder that a command is about, absolute. One that is not there
// is an error, or a slip of the pen would look like nothing to worry about.
func folder(arg string) (string, error) {
	dir, err := filepath.Abs(arg)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", dir)
	}
	return dir, err
}
