package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/pkg/daemon"
)

func newApprove() *cobra.Command {
	live := &liveFlag{}
	cmd := &cobra.Command{
		Use:   "approve [DIGEST]",
		Short: "List the missing objects that are kept in force, or approve their removal",
		Long: `approve asks a running daemon which objects it keeps in force although they are missing from its source, and prints them
with a digest. With that digest it has exactly those objects removed: when others are kept by now, nothing is removed and
the exit code is 1.

Only the machine, or the pod, that the daemon runs on may approve, unless listen-auth has a Kubernetes API decide who may
post to ` + daemon.ApprovePath + `. Of several replicas each keeps objects of its own: approve at the one that leads first.`,
		Example: `  netloom approve
  netloom approve 5e0f1c22ab90
  kubectl exec -n netloom deploy/netloom -- netloom approve 5e0f1c22ab90`,
		Args: cobra.MaximumNArgs(1),
	}
	cmd.Flags().StringVar(&live.server, "server", "127.0.0.1:8082", "address of the daemon's debug-listen")
	output := bindOutput(cmd, "table", "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := output.check(); err != nil {
			return err
		}
		return approve(cmd, live, args, output.form)
	}
	return cmd
}

func approve(cmd *cobra.Command, live *liveFlag, args []string, form string) error {
	method, path := http.MethodGet, daemon.ApprovePath
	if len(args) > 0 {
		method, path = http.MethodPost, path+"?digest="+url.QueryEscape(args[0])
	}
	body, err := live.ask(cmd.Context(), method, path)
	if err != nil {
		return err
	}
	var kept daemon.Kept
	if err := json.Unmarshal(body, &kept); err != nil {
		return fmt.Errorf("--server: it answers something else than what is kept: %w", err)
	}
	if form != "table" {
		return printData(cmd.OutOrStdout(), form, kept)
	}
	out := cmd.OutOrStdout()
	for _, k := range kept.Objects {
		if _, err := fmt.Fprintln(out, k); err != nil {
			return err
		}
	}
	switch {
	case len(args) > 0:
		_, err = fmt.Fprintf(out, "%s approved for removal\n", counted(len(kept.Objects), "object"))
	case kept.Digest == "":
		_, err = fmt.Fprintln(out, "nothing is kept")
	default:
		_, err = fmt.Fprintf(out, "%s kept; netloom approve %s removes them\n", counted(len(kept.Objects), "object"), kept.Digest)
	}
	return err
}
