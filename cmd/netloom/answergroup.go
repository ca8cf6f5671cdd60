package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/answers/probe"
	"github.com/netloom/netloom/pkg/answers/reach"
)

// answerGroup is the answers for some sources and some destinations that differ in nothing else.
type answerGroup struct {
	first    *probe.Answer
	shape    string // the answer, without the names of its ends
	from, to []string
}

// grouped merges answers that differ only in their ends, and asks them as one question: the first one of a group, for all sources and destinations.
// The ends of a group are a full product, as the differences of impact are.
func grouped(answers []probe.Answer) []probe.Answer {
	groups := make([]answerGroup, len(answers))
	for n := range answers {
		a := &answers[n]
		groups[n] = answerGroup{first: a, shape: shapeOf(a), from: []string{a.From}, to: []string{a.To}}
	}
	groups = merge(groups, func(g *answerGroup) []string { return g.to }, func(g, o *answerGroup) { g.from = append(g.from, o.from...) })
	groups = merge(groups, func(g *answerGroup) []string { return g.from }, func(g, o *answerGroup) { g.to = append(g.to, o.to...) })
	out := make([]probe.Answer, len(groups))
	for n := range groups {
		g := &groups[n]
		out[n] = *g.first
		if len(g.from)*len(g.to) > 1 {
			out[n].Question = fmt.Sprintf("%s -> %s %s", endsText(g.from), endsText(g.to), g.first.Port)
		}
	}
	return out
}

// endsText names ends, the first few of many.
func endsText(names []string) string {
	names = reach.AsWorkloads(slices.Clone(names))
	text := some(names, strings.Clone)
	if len(names) > 1 {
		text += fmt.Sprintf(" (%d)", len(names))
	}
	return text
}

// shapeOf is the text of an answer with placeholders for its ends.
func shapeOf(a *probe.Answer) string {
	bare := *a
	bare.Question = a.Port
	bare.Flows = slices.Clone(a.Flows)
	for i := range bare.Flows {
		bare.Flows[i].Source, bare.Flows[i].Destination = "", ""
	}
	text := answerText(&bare, false)
	ends := []struct{ name, placeholder string }{{a.From, "\x00from"}, {a.To, "\x00to"}}
	slices.SortStableFunc(ends, func(x, y struct{ name, placeholder string }) int { return cmp.Compare(len(y.name), len(x.name)) })
	for _, e := range ends { // the longer one first: it may contain the other
		text = strings.ReplaceAll(text, e.name, e.placeholder)
	}
	return text
}

// merge merges each group into the first with the same shape and key.
func merge(groups []answerGroup, key func(*answerGroup) []string, add func(to, from *answerGroup)) []answerGroup {
	at := map[string]int{}
	var out []answerGroup
	for i := range groups {
		g := &groups[i]
		k := g.shape + "\x00" + strings.Join(key(g), "\x00")
		if n, seen := at[k]; seen {
			add(&out[n], g)
			continue
		}
		at[k] = len(out)
		out = append(out, *g)
	}
	return out
}
