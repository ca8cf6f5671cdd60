package main

import (
	"io"

	"github.com/netloom/netloom/pkg/answers/flows"
)

// stagedObservation is what observe --staged prints.
type stagedObservation struct {
	Staged []flows.Tried `json:"staged"`
}

// printStaged prints what staged policies would have decided differently. Without any, there is nothing to tell.
func (o *observeOptions) printStaged(out io.Writer, form string, tried []flows.Tried) error {
	if len(tried) == 0 {
		return cannotTell("no policy is staged")
	}
	for i := range tried {
		shown := tried[i].Flows[:0:0]
		for _, f := range tried[i].Flows {
			if o.verdict == "all" || o.verdict == string(f.Would) {
				shown = append(shown, f)
			}
		}
		tried[i].Flows = shown
	}
	if form != formTable {
		return printData(out, form, "StagedObservation", stagedObservation{tried})
	}
	_, err := io.WriteString(out, triedText(tried, paletteFor(out)))
	return err
}

// triedText formats what was seen for staged policies.
func triedText(tried []flows.Tried, i palette) string {
	w := &answerWriter{palette: i}
	for n := range tried {
		t := &tried[n]
		if t.Connections == 0 {
			w.line("%s: no connection was seen", i.bold(t.Policy))
			continue
		}
		w.line("%s: %s", i.bold(t.Policy), t.Since())
		for k := range t.Flows {
			f := &t.Flows[k]
			mark := i.bad("-")
			if f.Would == flows.Allowed {
				mark = i.good("+")
			}
			w.line("  %s %s -> %s %s would be %s for %s, by %s, %s", mark, f.From, f.To, f.Port, f.Would, f.Direction, f.Rule, timesText(f.Count))
		}
		if t.Other > 0 {
			w.line("  %s flows, beyond the limit, %s", i.dim("other"), timesText(t.Other))
		}
	}
	return w.String()
}

// differenceText formats a new difference in a line.
func differenceText(d *flows.Difference) string { return d.Policy + ": " + d.Text() }
