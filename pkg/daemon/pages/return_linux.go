package pages

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Return gives the clean pages of the program's file back to the system, first those that were not used for longest (MADV_COLD and
// MADV_DONTNEED of madvise(2)). A page that is needed again is mapped again, from the page cache while it is there. Elsewhere than on
// Linux it does nothing.
func Return() error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("return pages of the program: %w", err)
	}
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return fmt.Errorf("return pages of the program: %w", err)
	}
	defer func() { _ = smaps.Close() }()
	mappings, err := clean(smaps, program)
	if err != nil {
		return err
	}
	for _, m := range mappings {
		for _, advice := range []uintptr{unix.MADV_COLD, unix.MADV_DONTNEED} {
			if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, advice); errno != 0 {
				return fmt.Errorf("return pages of the program at %#x: madvise: %w", m.start, errno)
			}
		}
	}
	return nil
}
