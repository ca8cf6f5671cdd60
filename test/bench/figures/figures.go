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
	Spread   float64  // how far the quartiles of its samples are apart, as a share of the median; 0 if there is one sample
	Meaning  string   // for the reader
	Missing  string   // why it was not measured; "" if it was
}

// Table formats figures as a Markdown table, in their order, beside what was published of them.
func Table(all []Figure, last []Published) string {
	var b strings.Builder
	others := Others()
	fmt.Fprintf(&b, "| pods | | measured | wanted | raw floor | last published | %s | %s | what it means |\n|---|---|---|---|---|---|---|---|---|\n", others[0], others[1])
	for i, name := range Named(all) {
		f := &all[i]
		pods, floor, before, beside := "", "", "", [2]string{}
		if p := find(last, f.Pods, name); p != nil {
			beside = p.Others
			if f.comparable(p) {
				before = value(p.Measured, f.Unit)
			}
		}
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
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", pods, f.Name, measured, f.wanted(), floor, before, beside[0], beside[1], f.Meaning)
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
