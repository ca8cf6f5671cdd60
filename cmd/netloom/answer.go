package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/netloom/netloom/pkg/answers/probe"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/object"
)

// answerText formats one answer over several lines.
func answerText(a *probe.Answer, i palette) string {
	w := &answerWriter{palette: i}
	w.answer(a)
	return w.String()
}

// verdictText is answerText without the changes for the opposite verdict.
func verdictText(a *probe.Answer, i palette) string {
	w := &answerWriter{palette: i, brief: true}
	w.answer(a)
	return w.String()
}

func (w *answerWriter) answer(a *probe.Answer) {
	w.line("%s  %s", w.verdict(a.Verdict), w.palette.bold(a.Question))
	for _, n := range a.Notes {
		w.line("        %s", w.palette.dim(n))
	}
	for _, group := range alike(a.Flows) {
		f := group[0]
		if len(a.Flows) > len(group) {
			w.line("  %s  over %s, %s -> %s", w.verdict(f.Verdict), f.Family, f.Source, f.Destination)
		}
		if f.Service != nil {
			w.service(f)
		} else {
			w.sides("  ", f.Egress, f.Ingress)
		}
		w.change("  ", f.Verdict, f.Change)
	}
}

// alike groups flows with equal results apart from their addresses.
func alike(flows []probe.Flow) [][]*probe.Flow {
	var groups [][]*probe.Flow
next:
	for i := range flows {
		f := &flows[i]
		for g := range groups {
			first := *groups[g][0]
			first.Family, first.Source, first.Destination = f.Family, f.Source, f.Destination
			if reflect.DeepEqual(&first, f) {
				groups[g] = append(groups[g], f)
				continue next
			}
		}
		groups = append(groups, []*probe.Flow{f})
	}
	return groups
}

// answerWriter collects the lines of an answer.
type answerWriter struct {
	strings.Builder
	palette palette
	brief   bool // leaves out the changes for the opposite verdict
}

func (w *answerWriter) line(format string, args ...any) {
	_, _ = w.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n") // it never fails
}

// verdict is a verdict in its color, padded to a fixed width.
func (w *answerWriter) verdict(v probe.Verdict) string {
	text := fmt.Sprintf("%-6s", v)
	switch v {
	case probe.Allow:
		return w.palette.good(text)
	case probe.Deny, probe.Refuse:
		return w.palette.bad(text)
	case probe.Mixed, probe.VerdictUnknown:
		return w.palette.odd(text)
	default:
		return text
	}
}

// service writes how a service load-balanced a flow.
func (w *answerWriter) service(f *probe.Flow) {
	w.line("  %s, %s: %s", f.Service.Frontend, f.Service.Service, f.Service.Outcome)
	choices := f.Service.Choices
	for i := range choices[:min(len(choices), shownRules)] {
		c := &choices[i]
		name := c.Address
		if c.Pod != "" {
			name += "  " + c.Pod
		}
		if c.Node != "" {
			name += " on " + c.Node
		}
		w.line("  %s  %s", w.verdict(c.Verdict), name)
		w.sides("    ", c.Egress, c.Ingress)
		w.change("    ", c.Verdict, c.Change)
	}
	if more := len(choices) - shownRules; more > 0 {
		w.line("  … and %d more endpoints: -o json lists them", more)
	}
}

// sides writes the verdicts of the policies at both ends.
func (w *answerWriter) sides(indent string, egress, ingress *probe.Side) {
	for _, s := range []struct {
		*probe.Side
		name string
	}{{egress, "egress"}, {ingress, "ingress"}} {
		head := fmt.Sprintf("%s%-8s %s  ", indent, s.name, w.verdict(s.Verdict))
		of := ""
		if s.Cluster != "" {
			of = " of cluster " + s.Cluster
		}
		switch {
		case s.Verdict == probe.VerdictUnknown:
			w.line("%s%s", head, s.Note)
		case s.Itself:
			w.line("%ssource and destination are the same, so that policies do not apply", head)
		case len(s.AllowedBy) > 0:
			w.line("%s%s%s", head, tierOf(s.Side, "Accept"), some(s.AllowedBy, world.Rule.String))
		case len(s.DeniedBy) > 0:
			w.line("%s%s%s", head, tierOf(s.Side, "Deny"), some(s.DeniedBy, world.Rule.String))
		case s.Verdict == probe.Allow && len(s.PassedBy) > 0:
			w.line("%sno other policy%s decides", head, of)
		case s.Verdict == probe.Allow:
			w.line("%sno policy%s selects it", head, of)
		default:
			w.line("%sno rule of %s", head, some(s.IsolatedBy, func(p string) string { return p }))
			for _, r := range s.NearMisses[:min(len(s.NearMisses), shownRules)] {
				w.line("%s         almost matched: %s %s", indent, r, r.Reason)
			}
		}
		for _, r := range s.PassedBy {
			w.line("%s         passed by %s", indent, r)
		}
		for _, r := range s.Rows[:min(len(s.Rows), shownRules)] {
			w.line("%s         row     %s %s  %s", indent, r.Table, r.Name, w.palette.dim(r.UUID))
		}
	}
}

// tierOf names the tier in which a cluster-wide policy decides, and what it does.
func tierOf(s *probe.Side, action string) string {
	if s.Tier == "" {
		return ""
	}
	return fmt.Sprintf("%s tier: %s by ", s.Tier, action)
}

// change writes what would have to change for the opposite verdict.
func (w *answerWriter) change(indent string, v probe.Verdict, lines []string) {
	if len(lines) == 0 || w.brief {
		return
	}
	head := "to allow it:"
	if v == probe.Allow {
		head = "to deny it, one of:"
	}
	w.line("%s%s", indent, w.palette.dim(head))
	for _, l := range lines {
		w.line("%s  - %s", indent, l)
	}
}

// problems lists problems of an object.
func (w *answerWriter) problems(list []object.Problem) {
	for _, p := range list {
		w.line("%s %s", w.palette.bad("problem:"), p)
	}
}
