package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/pkg/inputs/retention"
	"github.com/netloom/netloom/pkg/serve"
)

func newApprove() *cobra.Command {
	live := &liveFlag{}
	cmd := &cobra.Command{
		Use:   "approve [DIGEST]",
		Short: "List the missing objects that are kept in force, or approve their removal",
		Long: `List the objects that a running daemon keeps in force although they are missing from its source, with a digest. With the
digest as argument, approve the removal of exactly those objects. If the list has changed in the meantime, remove nothing
and exit with 1.

Without listen-auth, approval is only possible from the machine or pod of the daemon. With listen-auth, the Kubernetes API
decides who may post to ` + serve.ApprovePath + `. Each replica keeps its own list: approve at the leader first.`,
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
	method, path := http.MethodGet, serve.ApprovePath
	if len(args) > 0 {
		method, path = http.MethodPost, path+"?digest="+url.QueryEscape(args[0])
	}
	body, err := live.ask(cmd.Context(), method, path)
	if err != nil {
		return err
	}
	var kept retention.Kept
	if err := json.Unmarshal(body, &kept); err != nil {
		return fmt.Errorf("--server: the answer is not a list of objects: %w", err)
	}
	if form != "table" {
		return printData(cmd.OutOrStdout(), form, "KeptObjects", kept)
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
		_, err = fmt.Fprintln(out, "no missing object is kept in force")
	default:
		_, err = fmt.Fprintf(out, "%s kept in force; to remove them, run netloom approve %s\n", counted(len(kept.Objects), "object"), kept.Digest)
	}
	return err
}
