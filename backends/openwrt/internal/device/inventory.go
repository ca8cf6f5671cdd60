package device

import (
	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/firewall"
	"github.com/netloom/netloom/backends/openwrt/internal/kernel"
	"github.com/netloom/netloom/backends/openwrt/internal/render"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// Object is one object on the device.
type Object struct {
	Object openwrt.Object // as the device shows it
	Sent   openwrt.Object // as this process wrote it; nil if another did
	Copies int            // how many objects have the name
	At     int            // where it is among the objects of its kind: those with a smaller number come before it
	As     *render.Wanted // the wanted object that it is known to equal; nil if there is none
}

// Inventory is what is on the device, as far as it concerns this owner.
type Inventory struct {
	End     int                     // the last position that an object has
	Objects map[section.Key]*Object // ours, and those that intents adopt
	Zones   []string                // names of the zones that are not ours
	Notes   map[string]bool         // by name
	// What could not be read: kinds that the device does not list, objects, and modules that are not queried, each with the reason.
	Kinds   map[openwrt.Kind]string
	Unread  map[section.Key]string
	Resting map[string]string
	Sizes   map[string]section.Measure // of everything that is listed, by module
	added   map[string]section.Measure // by the plan that is being made
	// others are the objects of others that stand for routes and routing rules.
	others map[openwrt.Kind][]openwrt.Object
	Absent map[section.Key]string // ours that the kernel does not have, and why that may be
	Unseen string                 // why it is not known what the kernel has
}

// NewInventory returns what is on a device without any objects.
func NewInventory() *Inventory {
	return &Inventory{
		Objects: map[section.Key]*Object{}, Notes: map[string]bool{}, Kinds: map[openwrt.Kind]string{}, Unread: map[section.Key]string{},
		Resting: map[string]string{}, Sizes: map[string]section.Measure{}, added: map[string]section.Measure{},
		others: map[openwrt.Kind][]openwrt.Object{}, Absent: map[section.Key]string{},
	}
}

// Note takes in an object of a list. Adopted reports whether it is ours although others made it.
func (h *Inventory) Note(k section.Key, o openwrt.Object, names section.Namer, adopted func(section.Key) bool) {
	h.Sizes[k.Module()] = h.Sizes[k.Module()].Plus(section.SizeOf(o))
	switch {
	case k.Kind == openwrt.Proposals && names.Note(k.Name):
		h.Notes[k.Name] = true
	case k.Name != "" && (names.Mine(k.Kind, k.Name) || adopted(k)):
		if have := h.Objects[k]; have != nil {
			have.Copies++
			return
		}
		h.End++
		h.Objects[k] = &Object{Object: o, Copies: 1, At: h.End}
	case k.Kind == openwrt.Zones && k.Name != "" && !firewall.IsZone(o):
		h.Zones = append(h.Zones, k.Name)
	case section.InKernel(k.Kind):
		h.others[k.Kind] = append(h.others[k.Kind], o)
	}
}

// Unlisted reports whether the device did not list a kind: it may have objects of ours that are not known.
func (h *Inventory) Unlisted(kind openwrt.Kind) bool { return h.Kinds[kind] != "" }

// Unreadable returns why it is not known whether the device has an object; "" if it is known.
func (h *Inventory) Unreadable(k section.Key) string {
	if why := h.Resting[k.Module()]; why != "" {
		return why
	}
	return h.Unread[k]
}

// Skips reports the kinds that are not listed. Wanted objects of these kinds may still exist.
func (h *Inventory) Skips() []backends.Skip {
	var out []backends.Skip
	for kind, why := range h.Kinds {
		out = append(out, backends.Skip{Intent: kind.String(), Reason: why + "; what is no longer wanted of this kind stays"})
	}
	return out
}

// Held returns the objects that the kernel is compared with.
func (h *Inventory) Held() *kernel.Held {
	out := &kernel.Held{Objects: make(map[section.Key]openwrt.Object, len(h.Objects)), Others: h.others}
	for k, have := range h.Objects {
		out.Objects[k] = have.Object
	}
	return out
}
