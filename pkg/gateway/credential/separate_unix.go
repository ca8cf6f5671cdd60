//go:build unix

package credential

import (
	"os/exec"
	"syscall"
)

// separate has the plugin killed together with what it has started.
func separate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
