package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// progressAfter is how long an operation may take before progress is shown.
const progressAfter = time.Second

// progress shows on a terminal what takes long, once it does, until done is called. Without a terminal it prints nothing.
func progress(cmd *cobra.Command, what string) (done func()) {
	out := cmd.ErrOrStderr()
	if !isTerminal(out) {
		return func() {}
	}
	return tellAfter(progressAfter, func(text string) { _, _ = fmt.Fprint(out, text) }, what)
}

// tellAfter prints what is in progress and for how many seconds, and erases it at the end.
func tellAfter(wait time.Duration, say func(string), what string) (done func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		began, told := time.Now(), false
		ticker := time.NewTicker(wait)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				if told {
					say("\r\x1b[K")
				}
				return
			case <-ticker.C:
				told = true
				say(fmt.Sprintf("\r%s … %s", what, time.Since(began).Round(wait)))
			}
		}
	}()
	return func() {
		close(stop)
		<-ended
	}
}
