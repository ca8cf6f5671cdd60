package render

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// Intents formats every device intent of the CNF's scope. With guard, which is for CNFs that enforce policies, no rule
// accepts what a policy denies. Last is the previous result with the same networks and guard, or nil: what cannot have
// changed is taken from it.
func Intents(
	want *intent.Snapshot, cnf *intent.CNF, names section.Namer, secrets map[intent.SecretRef]Secret, guard bool, last *Desired,
) *Desired {
	r := &renderer{
		names: names, cnf: cnf, want: want, secrets: secrets, guard: guard, last: last, out: NewDesired(),
		placed: map[intent.DeviceIntentID]section.Key{}, failed: map[intent.DeviceIntentID]string{}, taken: map[string]string{},
	}
	intents := slices.Collect(want.DeviceIntentsOf(cnf.Scope))
	slices.SortStableFunc(intents, func(a, b *intent.DeviceIntent) int { return cmp.Compare(kindOf(a), kindOf(b)) })
	r.priorities = defaultPriorities(intents)
	for _, e := range intents { // a kind refers only to those before it
		r.add(e)
	}
	r.leaveOutOfChain(intents)
	return r.out
}

func kindOf(e *intent.DeviceIntent) intent.DeviceKind {
	if e.Spec == nil {
		return 0
	}
	return e.Spec.DeviceKind()
}

// add renders one intent, or records why it has no object.
func (r *renderer) add(e *intent.DeviceIntent) {
	k := rowOf(e.Spec)
	if e.Gone {
		r.failed[e.ID] = "it is being deleted"
		if k != nil {
			r.out.Gone[keyOf(r.names, k.object, e)] = string(e.ID)
		}
		return
	}
	if k != nil {
		r.out.Present[keyOf(r.names, k.object, e)] = true
	}
	if k != nil && e.Unknown {
		r.out.Retain[k.object] = true
		r.failed[e.ID] = "its configuration is not known yet"
		r.skip(e, "its configuration is not known yet; until then, unwanted "+k.object.String()+" are not deleted")
		return
	}
	w, err := r.object(k, e)
	var keep *errKeep
	switch {
	case err == nil && w == nil: // having nothing to write is not a fault
	case err == nil:
		r.out.Objects[w.Key] = w
		r.out.from[e] = w
		r.placed[e.ID] = w.Key
		if rule, ok := e.Spec.(*intent.LinkRule); ok {
			r.out.Skips = append(r.out.Skips, r.disputes.add(e.ID, rule)...)
		}
	case errors.As(err, &keep) && w != nil:
		r.out.Keep[w.Key] = true
		r.placed[e.ID] = w.Key
		r.skip(e, err.Error()+Stays)
	default:
		r.failed[e.ID] = err.Error()
		r.skip(e, err.Error())
	}
}

// object renders an intent. It returns nil for an intent that asks for nothing; with an *errKeep the result only has a key.
func (r *renderer) object(k *kind, e *intent.DeviceIntent) (*Wanted, error) {
	w := &Wanted{Intent: string(e.ID), Origin: e.Origin.String()}
	for _, id := range e.Needs {
		k, err := r.find(id)
		if err != nil {
			return nil, err
		}
		w.Needs = append(w.Needs, k)
	}
	if old := r.reuse(e, w.Needs); old != nil {
		if err := r.reserve(e, old.exclusive); err != nil {
			return nil, err
		}
		return old, nil
	}
	if k == nil {
		return nil, errors.New("its kind is not supported")
	}
	w.Key = keyOf(r.names, k.object, e)
	if err := openwrt.CheckName(k.object, w.Name); err != nil {
		return nil, err
	}
	resource, err := k.render(r, w, e.Spec)
	var keep *errKeep
	if err != nil && !errors.As(err, &keep) || resource == nil && err == nil {
		return nil, err
	}
	w.exclusive = []string{w.Space() + " name " + w.Name}
	if err == nil {
		w.Object = openwrt.ObjectOf(resource)
		if k.decides != nil {
			w.Decision = k.decides(w.Object)
		}
		if err := printable(w.Object); err != nil {
			return nil, err
		}
		w.exclusive = append(w.exclusive, r.exclusive(w)...)
	}
	if rival := r.reserve(e, w.exclusive); rival != nil {
		return nil, rival
	}
	if s, ok := e.Spec.(*intent.RouteRule); ok {
		rule := newRanked(w, s.Priority == 0)
		if err := r.precedence.conflict(rule); err != nil {
			return nil, err
		}
		r.out.Skips = append(r.out.Skips, r.precedence.add(rule)...)
	}
	slices.SortFunc(w.Needs, section.Key.Compare)
	w.Needs = slices.Compact(w.Needs)
	return w, err
}

// reuse finds the previous result for an intent; nil if that may depend on more than the intent and what it needs.
func (r *renderer) reuse(e *intent.DeviceIntent, needs []section.Key) *Wanted {
	if r.last == nil {
		return nil
	}
	old := r.last.from[e]
	if old == nil || rowOf(e.Spec).volatile {
		return nil
	}
	slices.SortFunc(needs, section.Key.Compare)
	if !slices.Equal(slices.Compact(needs), old.Needs) {
		return nil
	}
	return old
}

// keyOf returns the key of the object of kind k that an intent of a namer's owner becomes.
func keyOf(names section.Namer, k openwrt.Kind, e *intent.DeviceIntent) section.Key {
	return section.Key{Kind: k, Name: cmp.Or(e.Adopts, names.Object(k, string(e.ID), e.Origin.Name))}
}

// printable returns an error if an object has a character that would end a value where the device stores it.
func printable(o openwrt.Object) error {
	control := func(c rune) bool { return c < ' ' || c == 0x7f }
	for _, field := range slices.Sorted(maps.Keys(o)) {
		bad := false
		switch v := o[field].(type) {
		case string:
			bad = strings.ContainsFunc(v, control)
		case openwrt.Secret:
			bad = strings.ContainsFunc(string(v), control)
		case []string:
			bad = slices.ContainsFunc(v, func(s string) bool { return strings.ContainsFunc(s, control) })
		case []openwrt.Object:
			for _, inner := range v {
				if err := printable(inner); err != nil {
					return fmt.Errorf("%s: %w", field, err)
				}
			}
		}
		if bad {
			return fmt.Errorf("%s: contains a control character", field)
		}
	}
	return nil
}

// KeyOfIntent returns the key of the object that an intent of a namer's owner becomes; false if its kind is not supported.
func KeyOfIntent(names section.Namer, e *intent.DeviceIntent) (section.Key, bool) {
	k := rowOf(e.Spec)
	if k == nil {
		return section.Key{}, false
	}
	return keyOf(names, k.object, e), true
}
