package conformance

import (
	"os"
	"strconv"
	"strings"
)

// running reports whether a process runs; one that has ended and waits for its
// parent does not.
func running(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}
