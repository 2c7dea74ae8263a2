package proc

import (
	"bytes"
	"os"
	"strconv"
	"unsafe"
)

// HideEnviron blanks what the system shows of this process's environment to the
// other processes of the user, in /proc/PID/environ: an unconfined command could
// read the keys there that it is not given. The program's own view and what it hands
// on stay as they are. Only the mark by which processes are found stays readable.
//
// Nothing is changed where the place of the block cannot be found out.
func HideEnviron() {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return
	}
	start, end, ok := environBlock(stat)
	shown, err := os.ReadFile("/proc/self/environ")
	if !ok || err != nil || uintptr(len(shown)) != end-start {
		return
	}
	// The block lies on the stack that the system gave the program; the runtime has
	// copied what it needs before any of our code runs.
	block := unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&start))), end-start)
	if !bytes.Equal(block, shown) {
		return // not what we take it for
	}
	for entry := block; len(entry) > 0; {
		n := bytes.IndexByte(entry, 0)
		if n < 0 {
			n = len(entry)
		}
		if !bytes.HasPrefix(entry, []byte(markVariable+"=")) {
			clear(entry[:n])
		}
		entry = entry[min(n+1, len(entry)):]
	}
}

// environBlock reads where the environment lies in memory: fields 50 and 51.
func environBlock(stat []byte) (start, end uintptr, ok bool) {
	const first, want = 3, 51 // the fields behind the name in parentheses, counted from 1
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < want-first+1 {
		return 0, 0, false
	}
	at := func(field int) uint64 {
		n, err := strconv.ParseUint(string(fields[field-first]), 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	start, end = uintptr(at(50)), uintptr(at(51))
	return start, end, start != 0 && end > start && end-start < 64<<20
}
