package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// A result is what became of one mutant.
type result struct {
	mutant  mutant
	outcome outcome
	by      killer  // that killed it
	detail  string  // the test that failed, or what was said instead
	seconds float64 // for the reader; nothing depends on them
}

// line is what is printed when a mutant has been tried.
func (r result) line() string {
	line := fmt.Sprintf("%-10s %6.1f s  %s", r.outcome, r.seconds, r.mutant.name)
	switch r.outcome {
	case killed:
		return fmt.Sprintf("%s: %s: %s", line, r.by.room, r.detail)
	case survived:
		return line + ": " + r.mutant.what
	case unapplied, uncompiled, unnamed, unsound, unexplained:
	}
	return line + "\n" + tail(r.detail, 20)
}

// A tally counts the mutants of one room.
type tally struct {
	room                    string
	mutants, killed, others int
}

// tallies counts by room, ordered by name.
func tallies(results []result) []tally {
	counts := map[string]*tally{}
	var all []*tally
	for _, r := range results {
		room := r.mutant.room()
		if counts[room] == nil {
			counts[room] = &tally{room: room}
			all = append(all, counts[room])
		}
		counts[room].mutants++
		if r.outcome == killed {
			counts[room].killed++
		} else {
			counts[room].others++
		}
	}
	slices.SortFunc(all, func(a, b *tally) int { return strings.Compare(a.room, b.room) })
	rows, sum := make([]tally, 0, len(all)+1), tally{room: "together"}
	for _, t := range all {
		rows = append(rows, *t)
		sum.mutants, sum.killed, sum.others = sum.mutants+t.mutants, sum.killed+t.killed, sum.others+t.others
	}
	return append(rows, sum)
}

// table is the end of the output: counts by room, and as Markdown every mutant too.
func table(results []result, form string) string {
	var out strings.Builder
	if form == "md" {
		out.WriteString("| room | mutants | killed | not killed |\n|---|---|---|---|\n")
		for _, t := range tallies(results) {
			fmt.Fprintf(&out, "| %s | %d | %d | %d |\n", t.room, t.mutants, t.killed, t.others)
		}
		out.WriteString("\n| mutant | breaks | found | outcome |\n|---|---|---|---|\n")
		for _, r := range results {
			end := string(r.outcome)
			if r.outcome == killed {
				top, _, _ := strings.Cut(r.detail, "/")
				end = fmt.Sprintf("`%s %s`", r.by.room, top)
			}
			fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", r.mutant.name, r.mutant.what, r.mutant.found, end)
		}
		return out.String()
	}
	columns := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(columns, "ROOM\tMUTANTS\tKILLED\tNOT KILLED")
	for _, t := range tallies(results) {
		_, _ = fmt.Fprintf(columns, "%s\t%d\t%d\t%d\n", t.room, t.mutants, t.killed, t.others)
	}
	_ = columns.Flush() // a strings.Builder takes everything
	return out.String()
}
