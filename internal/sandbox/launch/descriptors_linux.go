package launch

import "syscall"

// endEach lets every descriptor from first on end with the next exec, one by one.
func endEach(first int) error {
	dir, err := syscall.Open("/proc/self/fd", syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(dir)
	buf := make([]byte, 8192)
	for {
		n, err := syscall.ReadDirent(dir, buf)
		if err != nil || n <= 0 {
			return err
		}
		_, _, names := syscall.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			if fd, ok := decimal([]byte(name)); ok && fd >= first {
				syscall.CloseOnExec(fd)
			}
		}
	}
}
