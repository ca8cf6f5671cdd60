package openwrt

import (
	"context"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/kernel"
	"github.com/netloom/netloom/backends/openwrt/internal/policy"
	"github.com/netloom/netloom/backends/openwrt/internal/render"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// deviceObject is one object on the device.
type deviceObject struct {
	object openwrt.Object // as the device shows it
	sent   openwrt.Object // as this process wrote it; nil if another did
	copies int            // how many objects have the name
	at     int            // where it is among the objects of its kind: those with a smaller number come before it
	as     *render.Wanted // the wanted object that it is known to equal; nil if there is none
}

// inventory is what is on the device, as far as it concerns this owner.
type inventory struct {
	end     int                           // the last position that an object has
	objects map[section.Key]*deviceObject // ours, and those that intents adopt
	zones   []string                      // names of the zones that are not ours
	notes   map[string]bool               // by name
	// What could not be read: kinds that the device does not list, objects, and modules that are not queried, each with the reason.
	kinds   map[openwrt.Kind]string
	unread  map[section.Key]string
	resting map[string]string
	sizes   map[string]section.Measure // of everything that is listed, by module
	added   map[string]section.Measure // by the plan that is being made
	// others are the objects of others that stand for routes and routing rules.
	others map[openwrt.Kind][]openwrt.Object
	absent map[section.Key]string // ours that the kernel does not have, and why that may be
	unseen string                 // why it is not known what the kernel has
}

func newInventory() *inventory {
	return &inventory{
		objects: map[section.Key]*deviceObject{}, notes: map[string]bool{}, kinds: map[openwrt.Kind]string{}, unread: map[section.Key]string{},
		resting: map[string]string{}, sizes: map[string]section.Measure{}, added: map[string]section.Measure{},
		others: map[openwrt.Kind][]openwrt.Object{}, absent: map[section.Key]string{},
	}
}

// note takes in an object of a list. Adopted reports whether it is ours although others made it.
func (h *inventory) note(k section.Key, o openwrt.Object, names section.Namer, adopted func(section.Key) bool) {
	h.sizes[k.Module()] = h.sizes[k.Module()].Plus(section.SizeOf(o))
	switch {
	case k.Kind == openwrt.Proposals && names.Note(k.Name):
		h.notes[k.Name] = true
	case k.Name != "" && (names.Mine(k.Kind, k.Name) || adopted(k)):
		if have := h.objects[k]; have != nil {
			have.copies++
			return
		}
		h.end++
		h.objects[k] = &deviceObject{object: o, copies: 1, at: h.end}
	case k.Kind == openwrt.Zones && k.Name != "" && !policy.IsZone(o):
		h.zones = append(h.zones, k.Name)
	case section.InKernel(k.Kind):
		h.others[k.Kind] = append(h.others[k.Kind], o)
	}
}

// unlisted reports whether the device did not list a kind: it may have objects of ours that are not known.
func (h *inventory) unlisted(kind openwrt.Kind) bool { return h.kinds[kind] != "" }

// unreadable returns why it is not known whether the device has an object; "" if it is known.
func (h *inventory) unreadable(k section.Key) string {
	if why := h.resting[k.Module()]; why != "" {
		return why
	}
	return h.unread[k]
}

// skips reports the kinds that are not listed. Wanted objects of these kinds may still exist.
func (h *inventory) skips() []backends.Skip {
	var out []backends.Skip
	for kind, why := range h.kinds {
		out = append(out, backends.Skip{Intent: kind.String(), Reason: why + "; what is no longer wanted of this kind stays"})
	}
	return out
}

// readSecrets resolves the Secrets that the tunnels of a scope refer to. One that cannot be resolved is in the result
// with its error.
func readSecrets(
	ctx context.Context, want *intent.Snapshot, of intent.Scope, resolve func(context.Context, intent.SecretRef) ([]byte, error),
) (map[intent.SecretRef]render.Secret, error) {
	out := map[intent.SecretRef]render.Secret{}
	for e := range want.DeviceIntentsOf(of) {
		t, ok := e.Spec.(*intent.Tunnel)
		if !ok || e.Gone {
			continue
		}
		for _, v := range []intent.SecretValue{t.Key, t.Certificate, t.PrivateKey, t.CA} {
			if _, known := out[v.From]; known || v.From == (intent.SecretRef{}) {
				continue
			}
			if resolve == nil {
				out[v.From] = render.Secret{Err: errNoSecrets}
				continue
			}
			value, err := resolve(ctx, v.From)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			out[v.From] = render.Secret{Value: value, Err: err}
		}
	}
	return out, nil
}

// held returns the objects that the kernel is compared with.
func (h *inventory) held() *kernel.Held {
	out := &kernel.Held{Objects: make(map[section.Key]openwrt.Object, len(h.objects)), Others: h.others}
	for k, have := range h.objects {
		out.Objects[k] = have.object
	}
	return out
}
