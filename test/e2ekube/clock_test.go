//go:build e2e

package e2ekube_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
)

// shiftClock makes the wall clock of one process differ from that of the machine, as if somebody had set it; its monotonic clock goes on.
// A Go program asks the kernel's vDSO for the time: in the memory of that process, and of no other, its function is replaced by one that
// asks with a system call and adds what the clock differs.
func shiftClock(t *testing.T, pid int, by time.Duration) {
	t.Helper()
	require.Equal(t, "amd64", runtime.GOARCH, "the code is for that")
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, memory.Close()) }()
	begin, end := vdso(t, pid)
	image := make([]byte, end-begin)
	_, err = memory.ReadAt(image, int64(begin))
	require.NoError(t, err)
	object, err := elf.NewFile(bytes.NewReader(image))
	require.NoError(t, err)
	symbols, err := object.DynamicSymbols()
	require.NoError(t, err)
	var at uint64
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" {
			at = begin + s.Value
		}
	}
	require.NotZero(t, at)

	code := []byte{
		0xb8, 228, 0, 0, 0, // mov eax, SYS_clock_gettime
		0x0f, 0x05, // syscall
		0x85, 0xff, // test edi, edi: zero is CLOCK_REALTIME
		0x75, 13, // jne to ret
		0x48, 0xb9, // mov rcx, the seconds
	}
	code = binary.LittleEndian.AppendUint64(code, uint64(int64(by/time.Second)))
	code = append(code,
		0x48, 0x01, 0x0e, // add [rsi], rcx
		0xc3) // ret
	process, err := os.FindProcess(pid)
	require.NoError(t, err)
	await.True(t, func() bool {
		require.NoError(t, process.Signal(syscall.SIGSTOP))
		defer func() { require.NoError(t, process.Signal(syscall.SIGCONT)) }()
		if inside(t, pid, begin, end) {
			return false
		}
		_, err := memory.WriteAt(code, int64(at))
		require.NoError(t, err)
		return true
	}, "no thread is asking for the time")
}

// vdso is where the kernel's vDSO is in a process.
func vdso(t *testing.T, pid int) (begin, end uint64) {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(line, "[vdso]\n") {
			_, err := fmt.Sscanf(line, "%x-%x", &begin, &end)
			require.NoError(t, err)
		}
	}
	require.NotZero(t, end)
	return begin, end
}

// inside reports whether a thread of a process that was sent SIGSTOP runs still, or has stopped within a range of addresses.
func inside(t *testing.T, pid int, begin, end uint64) bool {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	require.NoError(t, err)
	for _, task := range tasks {
		raw, err := os.ReadFile(task)
		fields := strings.Fields(string(raw)) // see proc_pid_syscall(5)
		if err != nil || len(fields) < 2 {
			return true
		}
		var at uint64
		if _, err := fmt.Sscanf(fields[len(fields)-1], "0x%x", &at); err != nil || at >= begin && at < end {
			return true
		}
	}
	return false
}
