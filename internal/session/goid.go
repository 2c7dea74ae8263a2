package session

import (
	"bytes"
	"runtime"
	"strconv"
)

// goroutineID identifies the running goroutine. Append needs it to tell a
// subscriber that appends (which would deadlock, and is refused) from another
// goroutine that appends meanwhile (which waits its turn): both hold the same
// arguments, and there is no other difference to see. The runtime gives the
// number only in the first line of a stack trace, "goroutine 12 [running]:".
func goroutineID() int64 {
	var buf [40]byte
	line := buf[:runtime.Stack(buf[:], false)]
	line = bytes.TrimPrefix(line, []byte("goroutine "))
	digits, _, _ := bytes.Cut(line, []byte(" "))
	id, _ := strconv.ParseInt(string(digits), 10, 64)
	return id
}
