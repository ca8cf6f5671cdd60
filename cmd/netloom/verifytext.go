package main

import (
	"cmp"
	"strings"

	"github.com/netloom/netloom/pkg/answers/verify"
)

// finding describes connections on which a database disagrees with policies.
func (w *answerWriter) finding(f *verify.Finding) {
	head := groupText(&f.From) + " -> " + groupText(&f.To)
	if f.Family != "" {
		head += "  " + w.palette.dim("("+f.Family+")")
	}
	w.line("%s %s: %s", w.palette.bad(string(f.Effect)), head, f.Traffic)
	w.line("    for example %s", f.Example)
	for _, d := range f.ACLs {
		if d.UUID == "" {
			w.line("    %s passes: no ACL matches", d.Direction)
			continue
		}
		name := cmp.Or(d.Name, "without a name")
		w.line("    %s is decided by ACL %s, %s: tier %d, priority %d, %s", d.Direction, d.UUID, name, d.Tier, d.Priority, d.Action)
		w.line("      %s", w.palette.dim(d.Match))
		if d.Origin != "" {
			w.line("      written for %s", d.Origin)
		}
	}
	verb := "denied"
	if f.Effect == verify.Closes {
		verb = "allowed"
	}
	if len(f.Policies) == 0 {
		w.line("    should be %s: no policy applies to it", verb)
		return
	}
	w.line("    should be %s by %s", verb, some(f.Policies, strings.Clone))
}

// verification summarizes a report.
func (w *answerWriter) verification(r *verify.Report) {
	for _, why := range r.Unknown {
		w.line("%s: %s", w.palette.odd("cannot tell"), why)
	}
	for _, why := range r.Invalid {
		w.line("note: OVN skips an ACL that is not valid: %s", why)
	}
	if n := len(r.NotJudged.Elsewhere); n > 0 {
		w.line("note: %s on other nodes %s no port here: only the other end of their connections was compared",
			counted(n, "pod"), map[bool]string{true: "has", false: "have"}[n == 1])
	}
	if n := len(r.NotJudged.Pods); n > 0 {
		w.line("note: not compared, without an address: %s", some(r.NotJudged.Pods, strings.Clone))
	}
	if r.NotJudged.Inside > 0 {
		w.line("note: EgressFirewalls were not compared for addresses that may be in the network of the cluster")
	}
	if r.NotJudged.Names > 0 {
		w.line("note: EgressFirewalls name DNS names, whose addresses are not known")
	}
	switch {
	case r.Opens+r.Closes > 0:
		w.line("%s: %s opened, %s closed", w.palette.bad("differs"), counted(r.Opens, "group"), counted(r.Closes, "group"))
	case !r.Conclusive():
		w.line("%s whether the database agrees with the policies", w.palette.odd("cannot tell"))
	default:
		w.line("%s: the connections of %s match the policies", w.palette.good("agrees"), counted(r.Pods, "pod"))
	}
}
