package serve

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"text/tabwriter"
	"time"
)

// rounds lists what the last rounds of each target handled and how long their stages took.
func (h *Handler) rounds(w http.ResponseWriter, _ *http.Request) {
	all := h.state.Rounds()
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "TARGET\tBEGAN\tCHANGES\tOPERATIONS\tTRANSACTIONS\tSNAPSHOTS\tWAIT\tPLAN\tORDER\tSEND\tCOMMIT")
	for _, target := range slices.Sorted(maps.Keys(all)) {
		for _, r := range all[target] {
			changes := fmt.Sprint(r.Changes)
			if r.Full {
				changes = "all"
			}
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%d\t%v\t%v\t%v\t%v\t%v\n", target, r.Began.UTC().Format("15:04:05.000"), changes,
				r.Operations, r.Transactions, r.Snapshots, rounded(r.Waited), rounded(r.Planned), rounded(r.Ordered), rounded(r.Sent), rounded(r.Committed))
		}
	}
	_ = table.Flush()
}

// rounded shortens a duration for people.
func rounded(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
