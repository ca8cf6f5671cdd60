package openwrt

import (
	"context"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// deviceObject is one object on the device.
type deviceObject struct {
	object openwrt.Object // as the device shows it
	sent   openwrt.Object // as this process wrote it; nil if another did
	copies int            // how many objects have the name
	as     *wanted        // the wanted object that it is known to equal; nil if there is none
}

// inventory is what is on the device, as far as it concerns this owner.
type inventory struct {
	objects map[key]*deviceObject // ours, and those that intents adopt
	zones   []string              // names of the zones that are not ours
	notes   map[string]bool       // by name
}

// observe reads back every kind. Adopted reports whether an object is ours although others made it.
func observe(ctx context.Context, client *openwrt.Client, names namer, adopted func(key) bool) (*inventory, error) {
	h := &inventory{objects: map[key]*deviceObject{}, notes: map[string]bool{}}
	lacking := 0
	for _, kind := range openwrt.Kinds() {
		all, err := client.List(ctx, kind)
		if openwrt.IsNotFound(err) && lacking < len(openwrt.Kinds())-1 {
			lacking++
			continue // a device without that module has nothing there, and rejects what is written
		}
		if err != nil {
			return nil, reached(err)
		}
		for _, o := range all {
			h.note(key{kind, o.Name()}, o, names, adopted)
		}
	}
	slices.Sort(h.zones)
	h.zones = slices.Compact(h.zones)
	return h, nil
}

func (h *inventory) note(k key, o openwrt.Object, names namer, adopted func(key) bool) {
	switch {
	case k.kind == openwrt.Proposals && names.note(k.name):
		h.notes[k.name] = true
	case k.name != "" && (names.mine(k.kind, k.name) || adopted(k)):
		if have := h.objects[k]; have != nil {
			have.copies++
			return
		}
		h.objects[k] = &deviceObject{object: o, copies: 1}
	case k.kind == openwrt.Zones && k.name != "" && !isPolicyZone(o):
		h.zones = append(h.zones, k.name)
	}
}

// readSecrets resolves the Secrets that the tunnels of a scope refer to. One that cannot be resolved is in the result
// with its error.
func readSecrets(
	ctx context.Context, want *intent.Snapshot, of intent.Scope, resolve func(context.Context, intent.SecretRef) ([]byte, error),
) (map[intent.SecretRef]secret, error) {
	out := map[intent.SecretRef]secret{}
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
				out[v.From] = secret{err: errNoSecrets}
				continue
			}
			value, err := resolve(ctx, v.From)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			out[v.From] = secret{value, err}
		}
	}
	return out, nil
}
