// Package tungstentest makes a controller in the process a target under test: verdicts come from a model of the vrouter.
package tungstentest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	backend "github.com/netloom/netloom/backends/tungsten"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/tungsten"
	"github.com/netloom/netloom/pkg/tungsten/vrouter"
)

// Target is a controller with what the contract needs.
type Target struct {
	store   *store
	network *vrouter.Network
	version int // of the store that network was made of
	foreign string
}

// New makes a target without policies.
func New(testing.TB) backendtest.Target {
	return &Target{store: newStore(), version: -1}
}

// Open makes a backend.
func (t *Target) Open(tb testing.TB, owner string) backends.Backend {
	tb.Helper()
	b, err := backend.New(t.store, backend.Options{Owner: owner})
	require.NoError(tb, err)
	t.store.watch = append(t.store.watch, b.Observe)
	return b
}

// MayDrop implements backendtest.Stepwise.
func (t *Target) MayDrop(b backends.Backend, p *backends.Plan) bool {
	of, ok := b.(*backend.Backend)
	return ok && of.ClosesFirst(p)
}

func portUUID(k object.Key) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(k.String())).String()
}

// Prepare makes the interfaces of endpoints as kube-manager does.
func (t *Target) Prepare(_ testing.TB, endpoints []intent.Endpoint, _ []*intent.Node) {
	for _, e := range endpoints {
		id := portUUID(e.Key)
		if t.store.objects[id] == nil {
			t.store.put(&tungsten.Object{
				Kind: tungsten.KindInterface, UUID: id, FQName: []string{"default-domain", "k8s-" + e.Key.Namespace, e.Key.Name + "__" + id},
				VirtualNetworkRefs: []tungsten.Ref{{UUID: "pods"}},
				Annotations: tungsten.NewAnnotations(map[string]string{
					"kind": "Pod", "namespace": e.Key.Namespace, "name": e.Key.Name, "owner": "k8s", "index": "0/1", "cluster": "k8s",
				}),
			})
		}
	}
}

// Verdict judges a flow by the model of the vrouter.
func (t *Target) Verdict(_ testing.TB, f intent.Flow) backendtest.Verdict {
	t.store.mu.Lock()
	if t.version != t.store.version {
		t.network, t.version = vrouter.New(t.store.all()), t.store.version
	}
	t.store.mu.Unlock()
	party := func(p intent.Party) vrouter.Party {
		out := vrouter.Party{Addr: p.Addr}
		if p.Key != (object.Key{}) {
			out.Interface = portUUID(p.Key)
		}
		return out
	}
	v := t.network.Verdict(vrouter.Packet{
		Src: party(f.Src), Dst: party(f.Dst), Protocol: uint8(f.Protocol), SourcePort: 40000, Port: f.Port,
	})
	return backendtest.Verdict{Allowed: v.Allowed || f.Src.Addr == f.Dst.Addr}
}

// Dump formats what the owners have written.
func (t *Target) Dump(tb testing.TB) string {
	tb.Helper()
	return t.dump(tb, "netloom.")
}

// DumpOwner formats what one owner has written.
func (t *Target) DumpOwner(tb testing.TB, owner string) string {
	tb.Helper()
	return t.dump(tb, "netloom."+owner+".")
}

func (t *Target) dump(tb testing.TB, part string) string {
	tb.Helper()
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	var lines []string
	for _, o := range t.store.all() {
		switch {
		case o.Kind == tungsten.KindInterface:
			var tags []string
			for _, ref := range o.TagRefs {
				if strings.Contains(ref.Target(), part) {
					tags = append(tags, ref.Target())
				}
			}
			slices.Sort(tags)
			if len(tags) > 0 {
				lines = append(lines, fmt.Sprintf("%s %s tags %s", o.Kind, o.Name(), strings.Join(tags, " ")))
			}
		case strings.Contains(strings.Join(o.FQName, ":"), part):
			fields, err := tungsten.Diff(&tungsten.Object{Kind: o.Kind}, o)
			require.NoError(tb, err)
			raw, err := json.Marshal(fields)
			require.NoError(tb, err)
			lines = append(lines, fmt.Sprintf("%s %s %s", o.Kind, o.Name(), raw))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// AddForeign adds objects of others: tags, a policy set, and tags of an interface.
func (t *Target) AddForeign(tb testing.TB) {
	tb.Helper()
	tag := &tungsten.Object{Kind: tungsten.KindTag, UUID: "foreign-tag", FQName: []string{"label=netloom"}, TagTypeName: "label", TagValue: "netloom"}
	require.NoError(tb, t.store.number(tag))
	t.store.put(tag)
	t.store.put(&tungsten.Object{
		Kind: tungsten.KindAddressGroup, UUID: "foreign-group", FQName: []string{"default-policy-management", "netloom-by-hand"},
	})
	t.store.put(&tungsten.Object{
		Kind: tungsten.KindInterface, UUID: "foreign-port", FQName: []string{"default-domain", "admin", "vm"},
		TagRefs: []tungsten.Ref{{To: tag.FQName, UUID: tag.UUID}},
	})
	t.foreign = t.others(tb)
}

func (t *Target) others(tb testing.TB) string {
	tb.Helper()
	var lines []string
	for _, o := range t.store.all() {
		if strings.HasPrefix(o.UUID, "foreign-") {
			raw, err := json.Marshal(o)
			require.NoError(tb, err)
			lines = append(lines, string(raw))
		}
	}
	return strings.Join(lines, "\n")
}

// ForeignIntact reports whether these are as they were.
func (t *Target) ForeignIntact(tb testing.TB) bool {
	tb.Helper()
	return t.foreign == t.others(tb)
}

// FailAt makes a write fail.
func (t *Target) FailAt(k int) { t.store.failAt = k }

// LoseAt loses the answer to a write.
func (t *Target) LoseAt(k int) { t.store.loseAt = k }

// Writes counts writes.
func (t *Target) Writes(testing.TB) int { return t.store.writes }

// Dangling lists references to what is missing.
func (t *Target) Dangling(testing.TB) []string {
	var out []string
	for _, o := range t.store.all() {
		for _, refs := range refsOf(o) {
			for _, ref := range *refs {
				if ref.Dangling() {
					out = append(out, o.Name()+" refers to "+ref.UUID)
				}
			}
		}
	}
	return out
}
