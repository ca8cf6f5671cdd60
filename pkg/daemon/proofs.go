package daemon

import (
	"fmt"
	"strings"
	"time"

	"github.com/netloom/netloom/pkg/feedback/metrics"
	"github.com/netloom/netloom/pkg/inputs/source"
)

// streamLate is the silence after which the change stream of a target is late. It delivers at least one line a minute.
const streamLate = 3 * time.Minute

// view is something that netloom watches, and how current the view is known to be.
type view struct {
	cluster string // "" is the own cluster
	source.Proof
}

// views lists everything that can be confirmed: the kinds of objects or the directory, the PolicyStatus objects while this instance writes
// them, what is read of other clusters, and the targets that report changes by others over a stream.
func (d *Daemon) views() []view {
	var out []view
	if d.prover != nil {
		for _, p := range d.prover.Proofs() {
			out = append(out, view{Proof: p})
		}
	}
	if written := d.policies.View(); written != nil {
		out = append(out, view{Proof: written.Proof()})
	}
	for _, p := range d.others.Proofs() {
		out = append(out, view{p.Cluster, p.Proof})
	}
	for _, t := range d.targets {
		if t.Heard == nil {
			continue
		}
		at, ended := t.Heard()
		p := source.Proof{Resource: "target " + t.Name, Confirmed: at, Late: streamLate}
		if ended != nil {
			p.Fault = ended.Error()
		}
		out = append(out, view{Proof: p})
	}
	return out
}

// unconfirmed lists the views that are not known to be current, one line for each.
func (d *Daemon) unconfirmed() []string {
	var lines []string
	now := time.Now()
	for _, v := range d.views() {
		v.Resource = v.name()
		if text := v.Degraded(now, d.started); text != "" {
			lines = append(lines, text)
		}
	}
	return lines
}

// name is what a view is called in a line.
func (v *view) name() string {
	if v.cluster == "" {
		return v.Resource
	}
	return v.Resource + " of cluster " + v.cluster
}

// confirmed says in one line when each view was last confirmed; for another cluster, only the oldest confirmation. It is empty if nothing
// can be confirmed.
func (d *Daemon) confirmed() []string {
	var parts []string
	oldest := map[string]view{}
	now := time.Now()
	add := func(name string, p *source.Proof) {
		when := "not since the start"
		if !p.Confirmed.IsZero() {
			when = fmt.Sprintf("%s ago", now.Sub(p.Confirmed).Round(time.Second))
		}
		parts = append(parts, name+" "+when)
	}
	var clusters []string
	for _, v := range d.views() {
		if v.cluster == "" {
			add(v.Resource, &v.Proof)
			continue
		}
		was, known := oldest[v.cluster]
		if !known {
			clusters = append(clusters, v.cluster)
		}
		if !known || v.Confirmed.Before(was.Confirmed) {
			oldest[v.cluster] = v
		}
	}
	for _, cluster := range clusters {
		v := oldest[cluster]
		add("cluster "+cluster, &v.Proof)
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{"confirmed: " + strings.Join(parts, ", ")}
}

// confirmations lists the views for metrics.
func (d *Daemon) confirmations() []metrics.View {
	var out []metrics.View
	now := time.Now()
	for _, v := range d.views() {
		one := metrics.View{Cluster: v.cluster, Resource: v.Resource, Confirmed: v.Confirmed, Late: v.IsLate(now, d.started), Renewals: map[string]int{}}
		for _, cause := range []source.RenewalCause{source.RenewalBack, source.RenewalDiffers, source.RenewalSilent} {
			one.Renewals[string(cause)] = v.Renewals[cause]
		}
		out = append(out, one)
	}
	return out
}
