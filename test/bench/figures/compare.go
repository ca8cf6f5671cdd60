package figures

import (
	"fmt"
	"strings"
)

// A figure of a single sample may be so much larger than the published one: it shows no noise of its own.
const single = 0.1

// Named returns the whole name of each figure: one that begins with … continues the name of the last one that does not, up to its colon.
func Named(all []Figure) []string {
	names := make([]string, len(all))
	head := ""
	for i := range all {
		rest, continues := strings.CutPrefix(all[i].Name, "… ")
		if continues {
			names[i] = head + ": " + rest
			continue
		}
		head, _, _ = strings.Cut(all[i].Name, ": ")
		names[i] = all[i].Name
	}
	return names
}

// find returns what was published of a figure; nil if nothing was.
func find(last []Published, pods int, name string) *Published {
	for i := range last {
		if last[i].Pods == pods && last[i].Name == name {
			return &last[i]
		}
	}
	return nil
}

// comparable reports whether a figure of netloom was published with a value that a measured one can be compared with.
func (f *Figure) comparable(p *Published) bool {
	return p != nil && f.Missing == "" && (p.Measured > 0 || f.Unit == "")
}

// Worse lists the figures that are worse than the last published ones by more than the noise of the run that they are from. A count has no
// noise. A time may be longer by as much as its floor is higher than the published floor, or if it has none, by as much as any floor of the run
// is, since the machine is busier; it has to be no shorter on a faster one. Anything but a count may be larger by how far its samples are apart.
func Worse(all []Figure, last []Published) []string {
	var worse []string
	names, busiest := Named(all), 1.0
	for i := range all {
		if p := find(last, all[i].Pods, names[i]); all[i].comparable(p) {
			busiest = max(busiest, all[i].busy(p))
		}
	}
	for i, name := range names {
		f := &all[i]
		p := find(last, f.Pods, name)
		if !f.comparable(p) {
			continue
		}
		limit := p.Measured * f.noise(p, busiest)
		if f.Measured > limit {
			worse = append(worse, fmt.Sprintf("%d pods, %s: %s, and at most %s with the noise of this run (published %s)",
				f.Pods, name, value(f.Measured, f.Unit), value(limit, f.Unit), value(p.Measured, f.Unit)))
		}
	}
	return worse
}

// busy is how many times as high the floor of a figure is as the published one; 0 if one of them is not known.
func (f *Figure) busy(p *Published) float64 {
	if p.Floor == 0 {
		return 0
	}
	return f.Floor / p.Floor
}

// noise is the factor by which a figure may be larger than the published one.
func (f *Figure) noise(p *Published, busiest float64) float64 {
	apart := 1 + max(f.Spread, single)
	switch f.Unit {
	case "":
		return 1
	case "ms", "s":
		if own := f.busy(p); own > 0 {
			return max(1, own) * apart
		}
		return busiest * apart
	default:
		return apart
	}
}
