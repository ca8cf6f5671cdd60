package tungstentest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/netloom/netloom/pkg/tungsten"
)

// store is a controller's configuration in the process, as the backend sees it through its client.
type store struct {
	mu      sync.Mutex
	objects map[string]*tungsten.Object // by UUID
	ids     map[string]map[int]bool     // of tag values, by type
	limit   int                         // of tag IDs of a type; 0 is none
	writes  int
	version int
	failAt  int
	loseAt  int
	draft   bool
	calls   map[string]int
	watch   []func(tungsten.Event)
}

// ErrInjected is the error of a request that fails on demand.
var ErrInjected = errors.New("request failed on demand")

func newStore() *store {
	s := &store{objects: map[string]*tungsten.Object{}, ids: map[string]map[int]bool{}, calls: map[string]int{}}
	s.objects["pm"] = &tungsten.Object{Kind: tungsten.KindPolicyManagement, UUID: "pm", FQName: []string{"default-policy-management"}}
	return s
}

func status(method string, code int, format string, args ...any) error {
	return &tungsten.StatusError{Method: method, Code: code, Message: fmt.Sprintf(format, args...)}
}

// write does one write, unless a fault is due.
func (s *store) write(ctx context.Context, what string, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[what]++
	if s.failAt > 0 {
		if s.failAt--; s.failAt == 0 {
			return ErrInjected
		}
	}
	if s.draft {
		return status(http.MethodPost, http.StatusAccepted, "draft")
	}
	if err := do(); err != nil {
		return err
	}
	s.writes++
	s.version++
	if s.loseAt > 0 {
		if s.loseAt--; s.loseAt == 0 {
			return tungsten.ErrUnknownOutcome
		}
	}
	return nil
}

func clone(o *tungsten.Object) *tungsten.Object {
	c := *o
	for _, refs := range refsOf(&c) {
		*refs = slices.Clone(*refs)
	}
	return &c
}

// refsOf are the references of an object that the store follows.
func refsOf(o *tungsten.Object) map[tungsten.Kind]*[]tungsten.Ref {
	return map[tungsten.Kind]*[]tungsten.Ref{
		tungsten.KindTag: &o.TagRefs, tungsten.KindFirewallRule: &o.FirewallRuleRefs,
		tungsten.KindFirewallPolicy: &o.FirewallPolicyRefs,
	}
}

func (s *store) find(kind tungsten.Kind, name string) *tungsten.Object {
	for _, o := range s.objects {
		if o.Kind == kind && strings.Join(o.FQName, ":") == name {
			return o
		}
	}
	return nil
}

// resolve checks what an object refers to and fills in UUIDs.
func (s *store) resolve(o *tungsten.Object) error {
	for kind, refs := range refsOf(o) {
		for i := range *refs {
			ref := &(*refs)[i]
			to := s.objects[ref.UUID]
			if to == nil || to.Kind != kind {
				to = s.find(kind, ref.Target())
			}
			if to == nil {
				return status(http.MethodPost, http.StatusNotFound, "unknown %s %s", kind, ref.Target())
			}
			ref.UUID, ref.To = to.UUID, to.FQName
		}
	}
	for _, e := range []*tungsten.Endpoint{o.Endpoint1, o.Endpoint2} {
		if e == nil {
			continue
		}
		for _, t := range e.Tags {
			if s.find(tungsten.KindTag, strings.TrimPrefix(t, "global:")) == nil {
				return status(http.MethodPost, http.StatusNotFound, "unknown tag %s", t)
			}
		}
		if e.AddressGroup != "" && s.find(tungsten.KindAddressGroup, e.AddressGroup) == nil {
			return status(http.MethodPost, http.StatusNotFound, "unknown address group %s", e.AddressGroup)
		}
	}
	return nil
}

// referrers counts what refers to an object.
func (s *store) referrers(of *tungsten.Object) int {
	n := 0
	name := strings.Join(of.FQName, ":")
	for _, o := range s.objects {
		for _, refs := range refsOf(o) {
			for _, ref := range *refs {
				if ref.UUID == of.UUID {
					n++
				}
			}
		}
		for _, e := range []*tungsten.Endpoint{o.Endpoint1, o.Endpoint2} {
			if e != nil && (of.Kind == tungsten.KindAddressGroup && e.AddressGroup == name ||
				of.Kind == tungsten.KindTag && slices.Contains(e.Tags, "global:"+name)) {
				n++
			}
		}
	}
	return n
}

// Create makes an object.
func (s *store) Create(ctx context.Context, given *tungsten.Object) (string, error) {
	o := clone(given)
	return o.UUID, s.write(ctx, "create "+string(o.Kind), func() error {
		if s.objects[o.UUID] != nil || s.find(o.Kind, strings.Join(o.FQName, ":")) != nil {
			return status(http.MethodPost, http.StatusConflict, "%v already exists", o.FQName)
		}
		if err := s.resolve(o); err != nil {
			return err
		}
		if o.Kind == tungsten.KindTag {
			if err := s.number(o); err != nil {
				return err
			}
		}
		s.objects[o.UUID] = o
		return nil
	})
}

// number gives a tag the lowest free ID.
func (s *store) number(o *tungsten.Object) error {
	used := s.ids[o.TagTypeName]
	if used == nil {
		used = map[int]bool{}
		s.ids[o.TagTypeName] = used
	}
	if s.limit > 0 && len(used) >= s.limit {
		return status(http.MethodPost, http.StatusInternalServerError, "cfgm_common.exceptions.ResourceExhaustionError: %d", s.limit)
	}
	n := 0
	for used[n] {
		n++
	}
	used[n] = true
	kind := map[string]int{"label": 0, "neutron_fwaas": 5}[o.TagTypeName]
	o.TagID = fmt.Sprintf("0x%08x", kind<<16|n)
	return nil
}

// Update replaces fields of an object.
func (s *store) Update(ctx context.Context, kind tungsten.Kind, uuid string, fields tungsten.Fields) error {
	return s.write(ctx, "update "+string(kind), func() error {
		o := s.objects[uuid]
		if o == nil {
			return status(http.MethodPut, http.StatusNotFound, "Unknown id: %s", uuid)
		}
		raw, err := json.Marshal(o)
		if err != nil {
			return err
		}
		var all map[string]json.RawMessage
		if err := json.Unmarshal(raw, &all); err != nil {
			return err
		}
		maps.Copy(all, fields)
		if raw, err = json.Marshal(all); err != nil {
			return err
		}
		next := &tungsten.Object{Kind: kind}
		if err := json.Unmarshal(raw, next); err != nil {
			return err
		}
		next.TagID = o.TagID
		for k, refs := range refsOf(next) {
			if _, given := fields[k.RefField()]; !given {
				*refs = *refsOf(o)[k]
			}
		}
		if err := s.resolve(next); err != nil {
			return err
		}
		s.objects[uuid] = next
		return nil
	})
}

// Delete removes an object that nothing refers to.
func (s *store) Delete(ctx context.Context, kind tungsten.Kind, uuid string) error {
	return s.write(ctx, "delete "+string(kind), func() error {
		o := s.objects[uuid]
		if o == nil {
			return status(http.MethodDelete, http.StatusNotFound, "ID %s does not exist", uuid)
		}
		if s.referrers(o) > 0 {
			return status(http.MethodDelete, http.StatusConflict, "Delete when resource still referred")
		}
		s.drop(o)
		return nil
	})
}

func (s *store) drop(o *tungsten.Object) {
	delete(s.objects, o.UUID)
	var id int
	if _, err := fmt.Sscanf(o.TagID, "0x%08x", &id); err == nil {
		delete(s.ids[o.TagTypeName], id&0xffff)
	}
}

// AddRef adds a reference.
func (s *store) AddRef(ctx context.Context, l tungsten.Link) error {
	return s.link(ctx, "add "+string(l.To), l, true)
}

// RemoveRef removes one.
func (s *store) RemoveRef(ctx context.Context, l tungsten.Link) error {
	return s.link(ctx, "remove "+string(l.To), l, false)
}

func (s *store) link(ctx context.Context, what string, l tungsten.Link, add bool) error {
	return s.write(ctx, what, func() error {
		o, to := s.objects[l.UUID], s.objects[l.Target]
		if o == nil || to == nil && add {
			return status(http.MethodPost, http.StatusNotFound, "not found: %s or %s", l.UUID, l.Target)
		}
		o = clone(o)
		refs := refsOf(o)[l.To]
		*refs = slices.DeleteFunc(*refs, func(r tungsten.Ref) bool { return r.UUID == l.Target })
		if add {
			ref := tungsten.Ref{To: to.FQName, UUID: to.UUID}
			if l.Sequence != "" {
				ref = ref.InSequence(l.Sequence)
			}
			*refs = append(*refs, ref)
		}
		s.objects[l.UUID] = o
		return nil
	})
}

// List returns the objects of a kind.
func (s *store) List(ctx context.Context, kind tungsten.Kind, q tungsten.Query) ([]*tungsten.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls["list "+string(kind)]++
	var out []*tungsten.Object
	for _, o := range s.all() {
		if o.Kind == kind && (q.UUIDs == nil || slices.Contains(q.UUIDs, o.UUID)) {
			out = append(out, o)
		}
	}
	if kind == tungsten.KindGlobalSystemConfig {
		out = append(out, &tungsten.Object{Kind: kind, UUID: "gsc", SecurityPolicyDraft: s.draft})
	}
	return out, nil
}

// all copies every object, with references to what is missing as the server shows them, in order of their UUIDs.
func (s *store) all() []*tungsten.Object {
	var out []*tungsten.Object
	for _, id := range slices.Sorted(maps.Keys(s.objects)) {
		o := clone(s.objects[id])
		for _, refs := range refsOf(o) {
			for i := range *refs {
				if s.objects[(*refs)[i].UUID] == nil {
					(*refs)[i].To = []string{"ERROR"}
				}
			}
		}
		out = append(out, o)
	}
	return out
}

// put adds or replaces an object behind everyone's back, and tells who watches.
func (s *store) put(o *tungsten.Object) {
	s.mu.Lock()
	s.objects[o.UUID] = o
	s.version++
	watch := slices.Clone(s.watch)
	s.mu.Unlock()
	for _, f := range watch {
		f(tungsten.Event{Type: tungsten.EventUpdate, Kind: o.Kind, Objects: []*tungsten.Object{o}})
	}
}
