package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/offline"
)

func newExplainRow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "row UUID|NAME --ovn-nb ADDR",
		Short: "Show which policies and Services a row of the database comes from",
		Long: `Find a row that netloom wrote, by its UUID, a prefix of its UUID, or its name, and show which rules of which objects need
it. The database contains this information: no manifests are read.`,
		Example: `  netloom explain row 0d1f8a52 --ovn-nb unix:/var/run/ovn/ovnnb_db.sock
  netloom explain row 'shop/db ingress[0]' --ovn-nb tcp:10.0.0.1:6641 -o yaml`,
		Args: cobra.ArbitraryArgs,
	}
	bindConfig(cmd)
	showSettings(cmd, "tungsten", "owner")
	output := bindOutput(cmd, "table", "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if len(args) != 1 {
			err = errors.New("expected the UUID of a row, its first eight characters, or its name")
		}
		cfg, err2 := loadConfig(cmd)
		if err := errors.Join(err, err2, output.check()); err != nil {
			return err
		}
		if err := checkTarget(cfg); err != nil {
			return err
		}
		settings := optionsOf(cfg).Target
		settings.Log = quietLog(cmd, cfg)
		trails, err := offline.Trails(cmd.Context(), settings, args[0])
		if err != nil {
			return err
		}
		out := cmd.OutOrStdout()
		if output.form != "table" {
			return printData(out, output.form, "RowOrigins", trails)
		}
		w := &answerWriter{palette: paletteFor(out)}
		for i := range trails {
			w.trail(&trails[i])
		}
		_, err = fmt.Fprint(out, w.String())
		return err
	}
	return cmd
}

// trail describes one row.
func (w *answerWriter) trail(t *backends.Trail) {
	w.line("%s  %s", w.palette.bold(t.Table+" "+cmp.Or(t.Name, t.UUID)), w.palette.dim(t.UUID))
	if t.Title != "" {
		w.line("  %s", t.Title)
	}
	if t.Owner != "" {
		w.line("  owner %s", t.Owner)
	}
	w.line("  needed by %s", cmp.Or(strings.Join(t.Origins, ", "), "unknown objects"))
	for _, column := range slices.Sorted(maps.Keys(t.Row)) {
		if text := columnText(t.Row[column]); text != "" && column != "external_ids" && column != "name" {
			w.line("    %s: %s", column, text)
		}
	}
}

// columnText formats a column, "" if it is empty.
func columnText(value any) string {
	switch v := value.(type) {
	case []string:
		return some(v, strings.Clone)
	case map[string]string:
		var pairs []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			pairs = append(pairs, k+"="+v[k])
		}
		return some(pairs, strings.Clone)
	default:
		return fmt.Sprint(v)
	}
}
