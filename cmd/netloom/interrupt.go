package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruptible runs a command line until it ends or a signal ends it, and returns the exit code. A command that answers ends at
// once; one that keeps running gets the time to stop in order, until a second signal.
func interruptible(ctx context.Context, args []string) int {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	root := newRoot()
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
		select {
		case code := <-ended:
			if code == exitDone && got == os.Interrupt {
				return exitInterrupted
			}
			return code
		case again := <-signals:
			return codeOfSignal(again)
		}
	}
}

func codeOfSignal(s os.Signal) int {
	if s == os.Interrupt {
		return exitInterrupted
	}
	return exitTerminated
}
