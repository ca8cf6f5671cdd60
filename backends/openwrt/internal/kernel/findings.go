package kernel

import (
	"cmp"
	"maps"

	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// The scripts with which the device reports its kernel lose what they read: at rest, an idle device returned an empty table for every second
// request. They leave out what is there and may repeat an entry, but invent nothing. So whatever one reading shows is there; something is
// missing only if many readings in a row do not show it; and something is removed only if a second reading shows it.

const (
	// enoughReadings is how many readings must not show what is missing. If every second one is wrong, all are once in a million times.
	enoughReadings = 20
	// enoughAgain is the same for what was missing the last time: what follows from that was done before.
	enoughAgain = 2
)

// Findings are the differences between the kernel and the objects of a device.
type Findings struct {
	Absent  map[section.Key]string    // objects that the kernel lacks, and why that may be
	Surplus map[string]leftover       // what the kernel should not have, by how people write it
	Behind  map[section.Key]latecomer // applications that the kernel does not evaluate first
	Empty   map[string]bool           // tables that should have routes, and have none
	Unclear string                    // why it is not known whether something is left over
}

// leftover is what the kernel should not have.
type leftover struct {
	Object openwrt.Object // with which the device removes it
	seen   int            // how many readings showed it
}

// latecomer is why an object comes too late in the order of the kernel.
type latecomer struct {
	why  string
	seen int // how many readings showed it
}

// NewFindings returns findings without any difference.
func NewFindings() Findings {
	return Findings{Absent: map[section.Key]string{}, Surplus: map[string]leftover{}, Behind: map[section.Key]latecomer{}, Empty: map[string]bool{}}
}

// Add adds what was found in another part of the kernel.
func (f *Findings) Add(o Findings) {
	maps.Copy(f.Absent, o.Absent)
	maps.Copy(f.Surplus, o.Surplus)
	maps.Copy(f.Behind, o.Behind)
	maps.Copy(f.Empty, o.Empty)
}

// once reports whether only one reading showed something.
func (l leftover) once() bool { return l.seen < enoughAgain }

// Enough returns how many readings settle the findings. Before is what was missing the last time.
func (f *Findings) Enough(before map[section.Key]string) int {
	for k := range f.Absent {
		if before[k] == "" {
			return enoughReadings
		}
	}
	for _, l := range f.Surplus {
		if l.once() {
			return enoughReadings
		}
	}
	for _, l := range f.Behind {
		if l.seen < enoughAgain {
			return enoughReadings
		}
	}
	if len(f.Absent) > 0 {
		return enoughAgain
	}
	return 1
}

// Settle leaves out what only one reading showed, once there are enough, and takes applications that come too late for absent.
func (f *Findings) Settle() {
	maps.DeleteFunc(f.Surplus, func(_ string, l leftover) bool { return l.once() })
	maps.DeleteFunc(f.Behind, func(_ section.Key, l latecomer) bool { return l.seen < enoughAgain })
	for at, l := range f.Behind {
		f.Absent[at] = cmp.Or(f.Absent[at], l.why)
	}
}
