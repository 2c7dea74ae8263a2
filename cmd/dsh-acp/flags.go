package main

import (
	"errors"
	"flag"
	"io"

	"github.com/dsh-acp/dsh-acp/internal/config"
)

const commonFlagsHelp = `  --config FILE        read this configuration after the user's own
  --model MODEL        a provider ("local"), a model, or both ("deepseek/deepseek-chat")
  --permissions PRESET read-only, workspace-write or danger-full-access
  --mode MODE          how the model gets at the tools: native, code or both
  --sessions DIR       where session logs are kept
  --log FILE           write the log there instead of to stderr
  --log-level LEVEL    debug, info, warn or error`

// flagSet is a subcommand's flags with the errors and the help of this program.
type flagSet struct {
	*flag.FlagSet
	version bool
	options config.Options
}

// newFlags makes the flags that every subcommand that reads a configuration has.
func newFlags(name string) *flagSet {
	f := &flagSet{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError)}
	f.SetOutput(io.Discard)
	f.BoolVar(&f.version, "version", false, "")
	f.StringVar(&f.options.ConfigFile, "config", "", "")
	o := &f.options.Flags
	f.StringVar(&o.Model, "model", "", "")
	f.StringVar(&o.Preset, "permissions", "", "")
	f.StringVar(&o.ToolMode, "mode", "", "")
	f.StringVar(&o.SessionsDir, "sessions", "", "")
	f.StringVar(&o.LogFile, "log", "", "")
	f.StringVar(&o.LogLevel, "log-level", "", "")
	return f
}

// parse reads args; at most max positional arguments may follow the flags.
func (f *flagSet) parse(args []string, max int) error {
	err := f.FlagSet.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return errHelp
	case err != nil:
		return usagef("%v (--help lists the flags)", err)
	case f.version:
		return errVersion
	case f.NArg() > max:
		return usagef("unexpected argument %q (--help says what is taken)", f.Arg(max))
	}
	return nil
}
