package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// The exit codes of all commands. docs/commands/README.md explains them to users.
const (
	exitDone   = 0 // the command did what was asked, and the answer rests on everything that it was given
	exitFailed = 1 // there is no answer: a wrong flag, input that cannot be read, a database that cannot be reached
	// exitDiffers means that the answer is the other one: something to write, a changed or denied connection, an expectation
	// that is not met.
	exitDiffers = 2
	// exitCannotTell means that the answer is incomplete: it rests on nothing, or on input with problems. It takes precedence over exitDiffers.
	exitCannotTell = 3
	// exitUnprotected means that policies select pods that the database does not have: all of them, or with --strict
	// some.
	exitUnprotected = 4
	exitInterrupted = 130 // Ctrl-C
	exitTerminated  = 143 // SIGTERM, to a command that answers and ends
)

// exitError ends the process with a code. An empty message has already been printed.
type exitError struct {
	code    int
	message string
}

func (e *exitError) Error() string { return e.message }

// differs is the error of a command whose answer is the other one; the answer says so already.
func differs() error { return &exitError{code: exitDiffers} }

// cannotTell is the error of a command whose answer is incomplete. The text says why.
func cannotTell(format string, args ...any) error {
	return &exitError{exitCannotTell, "cannot tell: " + fmt.Sprintf(format, args...)}
}

// codeOf is the exit code for an error.
func codeOf(err error) int {
	if err == nil {
		return exitDone
	}
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		return exit.code
	}
	return exitFailed
}

// worst returns the error that decides the exit code of a command for which several hold: one without an answer before one with an
// incomplete answer, that before missing protection, and a difference last. The messages of the others are lost: print them before.
func worst(errs ...error) error {
	var out error
	for _, err := range errs {
		if rank(err) > rank(out) {
			out = err
		}
	}
	return out
}

func rank(err error) int {
	switch codeOf(err) {
	case exitDone:
		return 0
	case exitDiffers:
		return 1
	case exitUnprotected:
		return 2
	case exitCannotTell:
		return 3
	default:
		return 4
	}
}

// keepsRunning is the annotation of commands that run until they are interrupted and then stop in order.
const keepsRunning = "netloom.io/keeps-running"

// runsUntilInterrupted marks a command.
func runsUntilInterrupted(cmd *cobra.Command) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[keepsRunning] = "true"
	return cmd
}

// never is the --fail-on of lint that accepts everything.
const never = "never"
