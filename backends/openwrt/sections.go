package openwrt

import (
	"errors"
	"fmt"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
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
	secrets := map[intent.SecretRef]secret{}
	for e := range s.DeviceIntentsOf(g.Scope) {
		if t, ok := e.Spec.(*intent.Tunnel); ok {
			for _, v := range []intent.SecretValue{t.Key, t.Certificate, t.PrivateKey, t.CA} {
				secrets[v.From] = secret{err: errNotHere}
			}
		}
	}
	guard := false
	for p := range s.Policies() {
		guard = guard || p.CNFs == g.Scope && p.CNFs != intent.Scope{}
	}
	names := newNamer(owner)
	w := render(s, g, names, secrets, guard, nil)
	var out []Section
	for _, k := range sorted(w.objects) {
		o := w.objects[k]
		if o.origin != of.String() {
			continue
		}
		section := Section{Kind: k.kind.String(), Name: k.name, Fields: fields(o.object)}
		for _, need := range o.needs {
			section.Needs = append(section.Needs, need.String())
		}
		out = append(out, section)
	}
	for _, skip := range w.skips {
		if e := s.DeviceIntent(intent.DeviceIntentID(skip.Intent)); e != nil && e.Origin == of {
			out = append(out, skipped(e, names, skip.Reason))
		}
	}
	return out
}

// skipped returns the section that an intent would become.
func skipped(e *intent.DeviceIntent, names namer, reason string) Section {
	section := Section{Reason: strings.TrimSuffix(reason, "; the previous configuration stays")}
	if k := rowOf(e.Spec); k != nil {
		at := (&renderer{names: names}).keyOf(k.object, e)
		section.Kind, section.Name = k.object.String(), at.name
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
