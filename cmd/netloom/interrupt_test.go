package main

import (
	"bufio"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSignalsEndCommands interrupts a command that waits for input forever, and one that runs until it is interrupted.
func TestSignalsEndCommands(t *testing.T) {
	for _, tc := range []struct {
		name   string
		args   []string
		signal os.Signal
		want   int
	}{
		{"a question", []string{"translate", "-f", "-"}, os.Interrupt, exitInterrupted},
		{"a question, terminated", []string{"translate", "-f", "-"}, syscall.SIGTERM, exitTerminated},
		{"a server", []string{"device-sim"}, os.Interrupt, exitInterrupted},
		{"a server, terminated", []string{"device-sim"}, syscall.SIGTERM, exitDone},
	} {
		t.Run(tc.name, func(t *testing.T) {
			program, err := os.Executable()
			require.NoError(t, err)
			p := exec.CommandContext(t.Context(), program, tc.args...)
			p.Env = append(os.Environ(), asProgram+"=1")
			in, err := p.StdinPipe()
			require.NoError(t, err)
			out, err := p.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, p.Start())
			if tc.args[0] == "translate" {
				big := make([]byte, 1<<20) // more than a pipe holds: once it is written, the command reads
				_, err = in.Write(big)
			} else {
				_, err = bufio.NewReader(out).ReadString('\n')
			}
			require.NoError(t, err)
			require.NoError(t, p.Process.Signal(tc.signal))
			var exit *exec.ExitError
			if err := p.Wait(); err != nil {
				require.ErrorAs(t, err, &exit)
			}
			require.Equal(t, tc.want, p.ProcessState.ExitCode())
		})
	}
}

// TestASignalThatComesTwiceIsOne sends what timeout(1) sends: a signal to the process, and at once another to its group.
func TestASignalThatComesTwiceIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended, signals, code := make(chan int), make(chan os.Signal), make(chan int, 1)
		go func() { code <- untilSecond(ended, signals, os.Interrupt) }()
		signals <- os.Interrupt
		ended <- exitDone
		require.Equal(t, exitInterrupted, <-code)

		go func() { code <- untilSecond(ended, signals, os.Interrupt) }()
		synctest.Wait()
		time.Sleep(oneSignal)
		signals <- syscall.SIGTERM
		require.Equal(t, exitTerminated, <-code, "the second of two ends at once")
	})
}
