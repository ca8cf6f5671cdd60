package manifest

import (
	"os"

	"golang.org/x/sys/unix"
)

// mountOf returns the mount that an open directory is on: see STATX_MNT_ID in statx(2).
func mountOf(dir *os.File) mount {
	var out mount
	raw, err := dir.SyscallConn()
	if err != nil {
		return out
	}
	_ = raw.Control(func(fd uintptr) {
		var s unix.Statx_t
		if unix.Statx(int(fd), "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &s) == nil {
			out = mount{id: s.Mnt_id, device: unix.Mkdev(s.Dev_major, s.Dev_minor)}
		}
	})
	return out
}
