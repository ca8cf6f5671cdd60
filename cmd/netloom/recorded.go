package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/pkg/config"
	"github.com/netloom/netloom/pkg/offline"
)

// rowSettings are the keys of the settings that decide which rows netloom writes for the same objects. The owner is none: each owner has
// settings of its own.
func rowSettings() []string {
	return []string{
		"cluster", "families", "peer-clusters", "peer-manifests", "peer-selectors", "services", "zone-node",
		"ovn-lb-affinity", "ovn-lb-group", "ovn-lb-hairpin", "ovn-lb-node-router", "ovn-lb-node-switch", "ovn-lb-routers", "ovn-lb-switches",
		"ovn-meter-rate", "ovn-port-names", "ovn-service-networks",
	}
}

// asRecorded are the settings with those that the database has of the daemon that writes it, in place of defaults. It is an error if a
// setting that somebody set differs.
func asRecorded(cmd *cobra.Command, cfg *configuration, manifests *manifestsFlag) (*configuration, error) {
	if err := manifests.checkScope(cmd); err != nil { // before a database is waited for
		return nil, err
	}
	settings := optionsOf(cfg).Target
	settings.Log, settings.ReadOnly = quietLog(cmd, cfg), true
	done := progress(cmd, "reading the database")
	recorded, err := offline.Recorded(cmd.Context(), settings)
	done()
	if err != nil || len(recorded) == 0 {
		return cfg, err
	}
	var faults []error
	var taken []string
	own := cfg.Values(rowSettings()...)
	for _, key := range slices.Sorted(maps.Keys(recorded)) {
		had, known := own[key]
		from := cfg.Origin(key)
		switch {
		case !known || had == recorded[key]:
		case from.Kind != config.FromDefault:
			faults = append(faults, fmt.Errorf("%s (%s): %q, but the daemon that writes this database has %q: leave it out to use that of the daemon",
				key, from, had, recorded[key]))
		default:
			if err := cmd.Flags().Set(key, recorded[key]); err != nil {
				return nil, fmt.Errorf("%s, as the daemon recorded it in the database: %w", key, err)
			}
			taken = append(taken, fmt.Sprintf("%s %q", key, recorded[key]))
		}
	}
	if err := errors.Join(faults...); err != nil || len(taken) == 0 {
		return cfg, err
	}
	cmd.PrintErrln("note: as the daemon that writes this database:", strings.Join(taken, ", "))
	return loadConfig(cmd)
}
