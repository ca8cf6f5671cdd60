package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// progressAfter is how long an operation may take before progress is shown.
const progressAfter = time.Second

// progress tells a person at a terminal what takes so long, once it does, until the function that it returns is called.
// In a pipe it says nothing.
func progress(cmd *cobra.Command, what string) (done func()) {
	out := cmd.ErrOrStderr()
	if !isTerminal(out) {
		return func() {}
	}
	return tellAfter(progressAfter, func(text string) { _, _ = fmt.Fprint(out, text) }, what)
}

// tellAfter says what is being done and for how many seconds, and takes it back in the end.
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
