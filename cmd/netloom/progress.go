package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// progressAfter is how long an operation may take before progress is shown.
const progressAfter = time.Second

// progress shows on a terminal what is in progress, if it takes long, until done is called. Without a terminal it prints nothing.
func progress(cmd *cobra.Command, what string) (done func()) {
	out := cmd.ErrOrStderr()
	if !isTerminal(out) {
		return func() {}
	}
	return progressEvery(progressAfter, func(text string) { _, _ = fmt.Fprint(out, text) }, what)
}

// progressEvery prints what is in progress and for how many seconds, and erases it at the end.
func progressEvery(wait time.Duration, show func(string), what string) (done func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		began, shown := time.Now(), false
		ticker := time.NewTicker(wait)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				if shown {
					show("\r\x1b[K")
				}
				return
			case <-ticker.C:
				shown = true
				show(fmt.Sprintf("\r%s … %s", what, time.Since(began).Round(wait)))
			}
		}
	}()
	return func() {
		close(stop)
		<-ended
	}
}
