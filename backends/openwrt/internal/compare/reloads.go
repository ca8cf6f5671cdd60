package compare

import (
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/openwrt"
)

// InOrderWith inserts reloads into ops in their order. The firewall is reloaded before anything directs packets elsewhere or lets more in,
// and ipsec before the firewall, if tunnels only come or change: what the firewall lets through to them does not leave without them. If the
// firewall may let more through, its objects rely on that, and not even they are written before ipsec is reloaded. If tunnels go, ipsec is
// reloaded with mwan3, after the firewall, and not without it. A service that is pausing delays only those that have to follow it.
func InOrderWith(ops, reloads []backends.Op) []backends.Op {
	ipsec, others := split(reloads, openwrt.Remotes.Service())
	firewall, late := split(others, openwrt.Zones.Service())
	tunnelGoes := slices.ContainsFunc(ipsec, func(op backends.Op) bool { return StepOf(&op).Last })
	directs := slices.ContainsFunc(ops, func(op backends.Op) bool { return StepOf(&op).Stage == Direct })
	early := firewall
	switch {
	case len(ipsec) == 0:
	case tunnelGoes, pauses(ipsec) && !directs && !mayOpen(ops, firewall):
		late = append(late, ipsec...)
	case mayOpen(ops, firewall):
		ops = relyOn(ipsec, ops, firewall)
	default:
		early = append(ipsec, early...)
	}
	early, late = pausedLast(early), pausedLast(late)
	release, expose := from(ops, Release), from(ops, Expose)
	return slices.Concat(ops[:release], early, ops[release:expose], late, ops[expose:])
}

// relyOn puts what belongs to ipsec, and its reload, before what belongs to the other services, and marks what belongs to the firewall.
func relyOn(ipsec, ops, firewall []backends.Op) []backends.Op {
	urgent := slices.ContainsFunc(ops, func(op backends.Op) bool {
		return StepOf(&op).Service() == openwrt.Zones.Service() && !onlyOpens(&op)
	})
	for _, list := range [][]backends.Op{ops, firewall} {
		for i := range list {
			if s := StepOf(&list[i]); s.Stage == Reload || s.Service() == openwrt.Zones.Service() {
				s.Relies, s.Urgent = true, urgent
			}
		}
	}
	place, release := from(ops, Place), from(ops, Release)
	tunnels, rest := []backends.Op{}, []backends.Op{}
	for _, op := range ops[place:release] {
		if StepOf(&op).Service() == openwrt.Remotes.Service() {
			tunnels = append(tunnels, op)
		} else {
			rest = append(rest, op)
		}
	}
	return slices.Concat(ops[:place], tunnels, ipsec, rest, ops[release:])
}

// mayOpen reports whether the firewall may let more through after its reload. It is not known what a reload loads that is owed.
func mayOpen(ops, firewall []backends.Op) bool {
	return slices.ContainsFunc(firewall, func(op backends.Op) bool { return StepOf(&op).Must }) ||
		slices.ContainsFunc(ops, func(op backends.Op) bool {
			return StepOf(&op).Service() == openwrt.Zones.Service() && !onlyCloses(&op)
		})
}

// onlyCloses reports whether an op of the firewall lets nothing through that was stopped before it.
func onlyCloses(op *backends.Op) bool {
	switch kind := StepOf(op).Key.Kind; {
	case op.Verb == backends.Create && kind == openwrt.FirewallRules:
		return op.After["target"] == "DROP" || op.After["target"] == "REJECT"
	case op.Verb == backends.Delete && kind == openwrt.FirewallRules:
		return op.Before["target"] == "ACCEPT"
	default:
		return op.Verb == backends.Delete && kind == openwrt.Forwardings
	}
}

// onlyOpens reports whether an op of the firewall stops nothing that was let through before it.
func onlyOpens(op *backends.Op) bool {
	switch kind := StepOf(op).Key.Kind; {
	case op.Verb == backends.Create && kind == openwrt.FirewallRules:
		return op.After["target"] == "ACCEPT"
	case op.Verb == backends.Delete && kind == openwrt.FirewallRules:
		return op.Before["target"] == "DROP" || op.Before["target"] == "REJECT"
	default:
		return op.Verb == backends.Create && kind == openwrt.Forwardings
	}
}

// from is the index of the first op of a stage or a later one.
func from(ops []backends.Op, s stage) int {
	if at := slices.IndexFunc(ops, func(op backends.Op) bool { return StepOf(&op).Stage >= s && StepOf(&op).Stage != Reload }); at >= 0 {
		return at
	}
	return len(ops)
}

// split returns the reload of a service, if there is one, and the others.
func split(reloads []backends.Op, service string) (one, others []backends.Op) {
	for _, op := range reloads {
		if op.Name == service {
			one = append(one, op)
		} else {
			others = append(others, op)
		}
	}
	return one, others
}

func pauses(reloads []backends.Op) bool {
	return slices.ContainsFunc(reloads, func(op backends.Op) bool { return StepOf(&op).Paused })
}

// pausedLast puts reloads that may not be made yet behind the others.
func pausedLast(reloads []backends.Op) []backends.Op {
	ready, paused := []backends.Op{}, []backends.Op{}
	for _, op := range reloads {
		if StepOf(&op).Paused {
			paused = append(paused, op)
		} else {
			ready = append(ready, op)
		}
	}
	return append(ready, paused...)
}
