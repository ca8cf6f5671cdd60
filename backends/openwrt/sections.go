package openwrt

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/compare"
	"github.com/netloom/netloom/backends/openwrt/internal/device"
	"github.com/netloom/netloom/backends/openwrt/internal/render"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// Section is one object of a CNF's device that is made from a source object.
type Section struct {
	Kind   string          `json:"kind"`             // such as mwan3/rules
	Name   string          `json:"name"`             // on the device
	Fields backends.Fields `json:"fields,omitempty"` // without secrets
	Needs  []string        `json:"needs,omitempty"`  // what it refers to
	// Reason is why it is not written, or what is missing here.
	Reason string `json:"reason,omitempty"`
}

// errNotHere takes the place of secrets that are not read.
var errNotHere = errors.New("its content depends on a Secret, which is not read for this")

// SectionsOf returns what the device intents of a source object become on the device of a CNF, by kind and name. It
// queries nothing: Secrets are not read, and what is on the device is not known. The owner is the one of Options.
func SectionsOf(s *intent.Snapshot, g *intent.CNF, owner string, of intent.Origin) []Section {
	names := section.NewNamer(owner)
	w, _ := renderUnread(s, g, names)
	var out []Section
	for _, k := range section.Sorted(w.Objects) {
		o := w.Objects[k]
		if o.Origin != of.String() {
			continue
		}
		section := Section{Kind: k.Kind.String(), Name: k.Name, Fields: section.Fields(o.Object)}
		for _, need := range o.Needs {
			section.Needs = append(section.Needs, need.String())
		}
		out = append(out, section)
	}
	for _, skip := range w.Skips {
		if e := s.DeviceIntent(intent.DeviceIntentID(skip.Intent)); e != nil && e.Origin == of {
			out = append(out, skipped(e, names, skip.Reason))
		}
	}
	return out
}

// SkipsOf returns what the device of a CNF does not accept: what Plan reports for one without any configuration. Like SectionsOf, it
// queries nothing.
func SkipsOf(s *intent.Snapshot, g *intent.CNF, owner string) []backends.Skip {
	names := section.NewNamer(owner)
	w, enforced := renderUnread(s, g, names)
	c := &compare.Comparison{Want: w, Have: device.NewInventory(), Names: names}
	c.Diff(nil)
	skips := slices.DeleteFunc(slices.Concat(w.Skips, c.Skips), func(skip backends.Skip) bool { return strings.Contains(skip.Reason, errNotHere.Error()) })
	for i := range skips {
		skips[i].Reason = strings.TrimSuffix(skips[i].Reason, render.Stays)
	}
	if hasZone := slices.ContainsFunc(section.Sorted(w.Objects), func(k section.Key) bool { return k.Kind == openwrt.Zones }); hasZone { // else it may have others'
		skips = append(skips, render.Policies(s, enforced, w, nil, names).Skips...)
	}
	return compare.InOrder(skips)
}

// renderUnread renders what a CNF should have without Secrets, and lists the policies that it enforces.
func renderUnread(s *intent.Snapshot, g *intent.CNF, names section.Namer) (*render.Desired, []*intent.Policy) {
	secrets := map[intent.SecretRef]render.Secret{}
	for e := range s.DeviceIntentsOf(g.Scope) {
		if t, ok := e.Spec.(*intent.Tunnel); ok {
			for _, v := range []intent.SecretValue{t.Key, t.Certificate, t.PrivateKey, t.CA} {
				secrets[v.From] = render.Secret{Err: errNotHere}
			}
		}
	}
	var enforced []*intent.Policy
	for p := range s.Policies() {
		if p.CNFs == g.Scope && p.CNFs != (intent.Scope{}) {
			enforced = append(enforced, p)
		}
	}
	return render.Intents(s, g, names, secrets, len(enforced) > 0, nil), enforced
}

// skipped returns the section that an intent would become.
func skipped(e *intent.DeviceIntent, names section.Namer, reason string) Section {
	section := Section{Reason: strings.TrimSuffix(reason, render.Stays)}
	if at, ok := render.KeyOfIntent(names, e); ok {
		section.Kind, section.Name = at.Kind.String(), at.Name
	}
	return section
}

// String formats a section on one line.
func (s *Section) String() string {
	text := fmt.Sprintf("%s %s", s.Kind, s.Name)
	if s.Reason != "" {
		text += ": " + s.Reason
	}
	return text
}
