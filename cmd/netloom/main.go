// Command netloom keeps OVN Northbound databases in sync with the NetworkPolicies and Services of a cluster, and answers
// questions about them.
//
// Each command is one small file here: it reads flags, calls pkg/daemon or pkg/query, and prints.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// The exit codes that scripts can use.
const (
	exitOK         = 0
	exitProblems   = 1 // there are problems, all of which were printed
	exitDifference = 2 // a dry run found something to write, a probe something that is not allowed
	exitFaulty     = 3 // translate found invalid manifests
	// exitUnprotected means that policies select pods that the database does not have: all of them, or with --strict
	// some.
	exitUnprotected = 4
)

// exitError ends the process with a code. An empty message has already been printed.
type exitError struct {
	code    int
	message string
}

func (e *exitError) Error() string { return e.message }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// run executes the command line and returns the exit code.
func run(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	code := exitProblems
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		code = exit.code
	}
	if text := err.Error(); text != "" {
		_, _ = fmt.Fprintln(os.Stderr, "netloom:", text)
	}
	return code
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "netloom",
		Short: "Translate Kubernetes NetworkPolicies and Services into exact, minimal OVN rows",
		Long: `netloom watches NetworkPolicies, Services and the objects that they refer to, in a cluster or a directory of manifests,
and keeps an OVN Northbound database in sync with them: port groups, address sets, ACLs and load balancers. It only
changes rows that it owns.

  netloom demo                                        try it, without installing anything
  netloom apply --manifests DIR --ovn-nb ADDR         sync a database once
  netloom run --ovn-nb ADDR                           keep a database in sync, from inside a cluster`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	if isPlugin() {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl netloom"}
	}
	root.AddCommand(
		newDemo(), newRun(), newApply(), newApprove(),
		newTranslate(), newProbe(), newTest(), newExplain(), newImpact(), newPlan(), newDrift(),
		newWebhook(), newDeviceSim(), newVersion(),
	)
	return root
}
