package main

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/serve"
)

// planOfServer shows the pending changes of a running daemon, for its database and for each CNF.
func planOfServer(cmd *cobra.Command, server, form string, strict *strictFlag) error {
	live := &liveFlag{server: server}
	done := progress(cmd, "planning")
	body, err := live.get(cmd.Context(), "/debug/plan?output=json")
	done()
	if err != nil {
		return err
	}
	var plans serve.Plans
	if err := json.Unmarshal(body, &plans); err != nil {
		return fmt.Errorf("--server: the answer is not a list of plans: %w", err)
	}
	unknown := 0
	var unprotected error
	for i := range plans.Targets {
		if plans.Targets[i].Plan == nil {
			unknown++
			continue
		}
		plain(plans.Targets[i].Plan)
		unprotected = cmp.Or(unprotected, strict.exit(plans.Targets[i].Coverage))
	}
	out := cmd.OutOrStdout()
	if form == "table" {
		err = plans.Write(out, bool(paletteFor(out)))
	} else {
		err = printData(out, form, "Plans", plans)
	}
	switch {
	case err != nil:
		return err
	case unknown > 0:
		return cannotTell("no plan for %s of %d", counted(unknown, "target"), len(plans.Targets))
	case unprotected != nil:
		return unprotected
	case !plans.Empty():
		return differs()
	}
	return nil
}

// plain restores the types of fields, which were lost in JSON.
func plain(p *backends.Plan) {
	for i := range p.Ops {
		for _, f := range []backends.Fields{p.Ops[i].Before, p.Ops[i].After} {
			for name, value := range f {
				f[name] = plainValue(value)
			}
		}
	}
}

func plainValue(value any) any {
	switch v := value.(type) {
	case []any:
		list := make([]string, len(v))
		for i := range v {
			list[i] = fmt.Sprint(v[i])
		}
		return list
	case map[string]any:
		named := make(map[string]string, len(v))
		for k := range v {
			named[k] = fmt.Sprint(v[k])
		}
		return named
	default:
		return v
	}
}
