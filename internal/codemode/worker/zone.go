package worker

import (
	"time"

	"github.com/dop251/goja"
)

// zoneParts splits a moment into the fields of a time zone for the prelude's
// date formatting: [year, month, day, hour, minute, second, ms, weekday, name,
// offset in minutes], or null when the zone is unknown. A worker has no file
// system, so the zones are UTC and the local one.
func (e *Engine) zoneParts(call goja.FunctionCall) goja.Value {
	t := time.UnixMilli(call.Argument(0).ToInteger())
	switch name := call.Argument(1); {
	case goja.IsUndefined(name):
		t = t.In(time.Local)
	case name.String() == "UTC" || name.String() == "GMT" || name.String() == "Etc/UTC":
		t = t.UTC()
	default:
		if name.String() != time.Local.String() {
			loc, err := time.LoadLocation(name.String())
			if err != nil {
				return goja.Null()
			}
			t = t.In(loc)
		}
	}
	zone, offset := t.Zone()
	return e.vm.NewArray(
		t.Year(), int(t.Month()), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond()/1e6,
		int(t.Weekday()), zone, offset/60,
	)
}
