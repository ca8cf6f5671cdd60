package render

import (
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// Wanted is one object that should be on the device.
type Wanted struct {
	section.Key
	Object    openwrt.Object // canonical, with secrets
	Intent    string         // the ID of the device intent or policy that it is for
	Origin    string         // the source object, for display
	Needs     []section.Key  // what it refers to
	exclusive []string       // what no other object can have
	Denies    bool           // without it, something would be open
	Decision                 // what it does, where the order of rules matters
}

// Desired is what should be on the device. It is immutable once it is made.
type Desired struct {
	Objects map[section.Key]*Wanted
	Keep    map[section.Key]bool   // must stay as they are, because what they should be is not known now
	Gone    map[section.Key]string // what is to be deleted, and the intent that had it
	Present map[section.Key]bool   // of the existing intents, whether they have an object now or not
	// Retain are the kinds whose unwanted objects stay, since an unknown intent may want them.
	Retain map[openwrt.Kind]bool
	Skips  []backends.Skip
	Sets   map[intent.SetID]bool // whose members it depends on
	from   map[*intent.DeviceIntent]*Wanted
}

// NewDesired returns the state of a device on which nothing should be.
func NewDesired() *Desired {
	return &Desired{
		Objects: map[section.Key]*Wanted{}, Keep: map[section.Key]bool{}, Gone: map[section.Key]string{}, Present: map[section.Key]bool{}, Retain: map[openwrt.Kind]bool{}, Sets: map[intent.SetID]bool{},
		from: map[*intent.DeviceIntent]*Wanted{},
	}
}

// Zones returns the zones that w asks for.
func (w *Desired) Zones() []string {
	var out []string
	for _, k := range slices.Concat(section.Sorted(w.Objects), section.Sorted(w.Keep)) {
		if k.Kind == openwrt.Zones {
			out = append(out, k.Name)
		}
	}
	return out
}

// Mentions reports whether an intent has, had or retains the object.
func (w *Desired) Mentions(k section.Key) bool {
	return w.Objects[k] != nil || w.Keep[k] || w.Gone[k] != ""
}

// Of lists the objects of a kind that intents have or had, in order.
func (w *Desired) Of(kind openwrt.Kind) []section.Key {
	var out []section.Key
	for _, list := range [][]section.Key{section.Sorted(w.Objects), section.Sorted(w.Keep), section.Sorted(w.Gone)} {
		for _, k := range list {
			if k.Kind == kind {
				out = append(out, k)
			}
		}
	}
	slices.SortFunc(out, section.Key.Compare)
	return slices.Compact(out)
}
