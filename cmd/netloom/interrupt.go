package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// interruptible runs a command line until it ends or a signal ends it, and returns the exit code. A command that answers ends at
// once; one that keeps running gets the time to stop in order, until a second signal.
func interruptible(ctx context.Context, root *cobra.Command, args []string) int {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan int, 1)
	go func() { ended <- execute(ctx, root, args) }()
	select {
	case code := <-ended:
		return code
	case got := <-signals:
		cancel()
		running := false
		if cmd, _, err := root.Find(args); err == nil {
			running = cmd.Annotations[keepsRunning] != ""
		}
		if !running {
			return codeOfSignal(got)
		}
		return untilSecond(ended, signals, got)
	}
}

// untilSecond waits for the end of a command that a signal has stopped, or for a second signal.
func untilSecond(ended <-chan int, signals <-chan os.Signal, first os.Signal) int {
	began := time.Now()
	for {
		select {
		case code := <-ended:
			if code == exitDone && first == os.Interrupt {
				return exitInterrupted
			}
			return code
		case again := <-signals:
			if time.Since(began) >= oneSignal {
				return codeOfSignal(again)
			}
		}
	}
}

// oneSignal is how far apart two signals are that count as two: timeout(1) and some wrappers send one to the process and to its group.
const oneSignal = 500 * time.Millisecond

func codeOfSignal(s os.Signal) int {
	if s == os.Interrupt {
		return exitInterrupted
	}
	return exitTerminated
}

// execute runs a command line until it ends, and returns the exit code.
func execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	if text := err.Error(); text != "" {
		_, _ = fmt.Fprintln(os.Stderr, "netloom:", text)
	}
	return codeOf(err)
}
