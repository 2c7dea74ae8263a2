package launch

import "syscall"

// wait blocks until the command is known, and puts the descriptors that come with
// it where the command wants them. It gives the one with the plan. Whoever started
// us may have no command for us, or be gone: then this process ends.
func wait(line string) (plan int, ok bool) {
	fd, ok := decimal([]byte(line))
	if !ok {
		return 0, false
	}
	var text [16]byte
	rights := make([]byte, syscall.CmsgSpace(4*MaxFiles))
	var n, control, flags int
	for {
		var err error
		n, control, flags, _, err = syscall.Recvmsg(fd, text[:], rights, syscall.MSG_CMSG_CLOEXEC)
		if err == nil {
			break
		}
		if err != syscall.EINTR {
			return 0, false
		}
	}
	if n == 0 {
		syscall.Exit(0)
	}
	if flags&(syscall.MSG_CTRUNC|syscall.MSG_TRUNC) != 0 {
		return 0, false
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:control])
	if err != nil || len(messages) != 1 {
		return 0, false
	}
	files, err := syscall.ParseUnixRights(&messages[0])
	if err != nil {
		return 0, false
	}
	_ = syscall.Close(fd)
	return arrange(files, text[:n])
}

// arrange gives the descriptors the numbers from 0 on. Until all are behind the last
// of these none is moved there; farther than that a limit may not let them.
func arrange(files []int, number []byte) (plan int, ok bool) {
	for i, f := range files {
		moved, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(f), syscall.F_DUPFD_CLOEXEC, uintptr(len(files)))
		if errno != 0 {
			return 0, false
		}
		_ = syscall.Close(f)
		files[i] = int(moved)
	}
	for i, f := range files {
		if err := syscall.Dup3(f, i, 0); err != nil {
			return 0, false
		}
		_ = syscall.Close(f)
	}
	plan, ok = decimal(number)
	return plan, ok && plan < len(files)
}
