package figures

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Figure is one measurement.
type Figure struct {
	Pods     int    // of the cluster; 0 if it does not depend on one
	Name     string // what was measured
	Measured float64
	Unit     string   // "" for a count
	AtMost   *float64 // what is wanted; nil if nothing is
	Floor    float64  // what it takes without netloom; 0 if that is not known
	Meaning  string   // for the reader
	Missing  string   // why it was not measured; "" if it was
}

// Table formats figures as a Markdown table, in their order.
func Table(all []Figure) string {
	var b strings.Builder
	b.WriteString("| pods | | measured | wanted | raw floor | what it means |\n|---|---|---|---|---|---|\n")
	for _, f := range all {
		pods, floor := "", ""
		if f.Pods > 0 {
			pods = strconv.Itoa(f.Pods)
		}
		measured := value(f.Measured, f.Unit)
		if f.Missing != "" {
			measured = "not measured: " + f.Missing
		}
		if f.Floor > 0 {
			floor = value(f.Floor, f.Unit)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", pods, f.Name, measured, f.wanted(), floor, f.Meaning)
	}
	return b.String()
}

// wanted is the limit, and whether it was missed.
func (f *Figure) wanted() string {
	if f.AtMost == nil {
		return ""
	}
	text := "≤ " + value(*f.AtMost, f.Unit)
	if f.Missing == "" && f.Measured > *f.AtMost {
		text += ", missed"
	}
	return text
}

// value formats a number with at most three significant digits, but an integer part with all of its own.
func value(v float64, unit string) string {
	digits := 2
	for limit := 10.0; digits > 0 && v >= limit; limit *= 10 {
		digits--
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	if unit != "" {
		text += " " + unit
	}
	return text
}

// Sizes parses a list of sizes that are separated by commas or spaces.
func Sizes(list string) ([]int, error) {
	var all []int
	for _, field := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(field)
		if err != nil || n <= 0 {
			return nil, fmt.Errorf("size %q: expected a positive integer", field)
		}
		all = append(all, n)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("sizes %q: expected at least one", list)
	}
	return all, nil
}

// LongestGap is the longest time from began to ended without a moment. The moments need no order; those outside do not count.
func LongestGap(began, ended time.Time, moments []time.Time) time.Duration {
	all := []time.Time{began, ended}
	for _, m := range moments {
		if m.After(began) && m.Before(ended) {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	var longest time.Duration
	for i := range all[1:] {
		longest = max(longest, all[i+1].Sub(all[i]))
	}
	return longest
}
