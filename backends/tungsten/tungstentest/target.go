// Package tungstentest makes a simulated controller a target under test. The backend reaches it through the real client; verdicts
// come from a model of the vrouter that sees nothing but the objects of the simulator.
package tungstentest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
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
	simulator "github.com/netloom/netloom/pkg/simulator/tungsten"
	"github.com/netloom/netloom/pkg/simulator/vrouter"
	"github.com/netloom/netloom/pkg/tungsten"
)

// Target is a controller with what the contract needs.
type Target struct {
	Server *simulator.Server
	// Client is what tests read and change the configuration with, behind every backend's back.
	Client   *tungsten.Client
	counted  *counted
	backends []*backend.Backend
	objects  map[string]*tungsten.Object // by UUID, as observed
	network  *vrouter.Network            // nil if objects have changed
	nodes    map[string]string           // where the interfaces with these UUIDs are
	foreign  string
	hidden   bool // backends see no events
}

// New makes a target without policies.
func New(t testing.TB) backendtest.Target {
	t.Helper()
	return NewTarget(t)
}

// NewTarget makes a target with no policies.
func NewTarget(tb testing.TB) *Target {
	tb.Helper()
	s := simulator.New(simulator.Options{ServiceMonitor: true})
	tb.Cleanup(s.Close)
	require.NoError(tb, s.AddCluster(backend.DefaultCluster))
	t := &Target{Server: s, Client: client(tb, s), objects: map[string]*tungsten.Object{}, nodes: map[string]string{}}
	t.counted = &counted{API: client(tb, s), target: t, calls: map[string]int{}}
	for _, kind := range []tungsten.Kind{tungsten.KindProject, tungsten.KindVirtualNetwork, tungsten.KindApplicationPolicySet, tungsten.KindTagType} {
		for _, raw := range s.Objects(string(kind)) {
			t.see(simulator.Change{Kind: string(kind), Object: raw})
		}
	}
	s.Observe(func(changes []simulator.Change) {
		for _, c := range changes {
			t.see(c)
		}
	})
	return t
}

func client(tb testing.TB, s *simulator.Server) *tungsten.Client {
	tb.Helper()
	c, err := tungsten.New(tungsten.Options{URLs: []string{"http://controller:8082"}, Dial: s.Dial})
	require.NoError(tb, err)
	tb.Cleanup(c.Close)
	return c
}

// see notes a change, as an agent learns of it.
func (t *Target) see(c simulator.Change) {
	t.network = nil
	if c.Object == nil {
		if o := t.objects[c.UUID]; o != nil {
			delete(t.objects, c.UUID)
			t.notify(tungsten.EventDelete, &tungsten.Object{Kind: o.Kind, UUID: o.UUID})
		}
		return
	}
	o := &tungsten.Object{Kind: tungsten.Kind(c.Kind)}
	if err := json.Unmarshal(c.Object, o); err != nil {
		panic(fmt.Sprintf("the simulator shows a %s that the client cannot read: %v", c.Kind, err))
	}
	t.objects[o.UUID] = o
	t.notify(tungsten.EventUpdate, o)
}

// Show implements backendtest.Blindable: the change streams of backends end, or begin with lists of all objects.
func (t *Target) Show(shown bool) {
	t.hidden = !shown
	if !shown {
		for _, b := range t.backends {
			b.Observe(tungsten.Event{Type: tungsten.EventLost, Err: errors.New("the stream was cut")})
		}
		return
	}
	for _, watched := range backend.Watched() {
		e := tungsten.Event{Type: tungsten.EventInit, Kind: watched.Kind}
		for _, o := range t.sorted() {
			if o.Kind == watched.Kind {
				e.Objects = append(e.Objects, o)
			}
		}
		for _, b := range t.backends {
			b.Observe(e)
		}
	}
}

// notify sends the backends what they would receive from a change stream.
func (t *Target) notify(event tungsten.EventType, o *tungsten.Object) {
	if t.hidden {
		return
	}
	for _, b := range t.backends {
		b.Observe(tungsten.Event{Type: event, Kind: o.Kind, Objects: []*tungsten.Object{o}})
	}
}

// Open makes a backend.
func (t *Target) Open(tb testing.TB, owner string) backends.Backend {
	tb.Helper()
	b, err := backend.New(t.counted, backend.Options{
		Owner: owner, ServiceNetwork: (&backend.Settings{}).Network(),
	})
	require.NoError(tb, err)
	t.backends = append(t.backends, b)
	return b
}

// MayDrop implements backendtest.Stepwise.
func (t *Target) MayDrop(b backends.Backend, p *backends.Plan) bool {
	of, ok := b.(*backend.Backend)
	return ok && of.ClosesFirst(p)
}

// PortUUID is the UUID of the interface of an endpoint.
func PortUUID(k object.Key) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(k.String())).String()
}

// podNetwork is the virtual network of all pods.
var podNetwork = []string{"default-domain", "k8s-default", "k8s-default-pod-network"} //nolint:gochecknoglobals // a constant list

// Prepare makes the interfaces and addresses of endpoints as kube-manager does.
func (t *Target) Prepare(tb testing.TB, endpoints []intent.Endpoint, _ []*intent.Node) {
	tb.Helper()
	for _, e := range endpoints {
		id := PortUUID(e.Key)
		t.nodes[id] = e.Node
		if t.objects[id] != nil {
			continue
		}
		t.create(tb, &tungsten.Object{
			Kind: tungsten.KindInterface, UUID: id, ParentType: tungsten.KindProject,
			FQName:             []string{"default-domain", "default-project", e.Key.Name + "__" + id},
			VirtualNetworkRefs: []tungsten.Ref{tungsten.RefTo(podNetwork...)},
			Annotations: tungsten.NewAnnotations(map[string]string{
				"kind": "Pod", "namespace": e.Key.Namespace, "name": e.Key.Name, "owner": "k8s", "index": "0/1", "cluster": "k8s",
			}),
		})
	}
	t.address(tb, endpoints)
}

// address gives endpoints their addresses. Those of endpoints that are gone stay until another one has them.
func (t *Target) address(tb testing.TB, endpoints []intent.Endpoint) {
	tb.Helper()
	wanted := map[string]string{} // UUIDs of interfaces by address
	moved := map[string]bool{}    // interfaces that are there
	for _, e := range endpoints {
		moved[PortUUID(e.Key)] = true
		for _, a := range e.Addrs {
			wanted[a.String()] = PortUUID(e.Key)
		}
	}
	for _, o := range t.sorted() {
		if o.Kind != tungsten.KindInstanceIP || len(o.InterfaceRefs) != 1 || !t.made(o.InterfaceRefs[0].UUID) {
			continue
		}
		id, stays := wanted[o.InstanceIPAddress]
		switch {
		case stays && id == o.InterfaceRefs[0].UUID:
			delete(wanted, o.InstanceIPAddress)
		case stays, moved[o.InterfaceRefs[0].UUID]:
			require.NoError(tb, t.Client.Delete(tb.Context(), o.Kind, o.UUID))
		}
	}
	for _, a := range slices.Sorted(maps.Keys(wanted)) {
		t.create(tb, &tungsten.Object{
			Kind: tungsten.KindInstanceIP, FQName: []string{"pod__" + uuid.NewString()}, InstanceIPAddress: a,
			VirtualNetworkRefs: []tungsten.Ref{tungsten.RefTo(podNetwork...)},
			InterfaceRefs:      []tungsten.Ref{tungsten.RefTo(t.objects[wanted[a]].FQName...)},
		})
	}
}

// made reports whether an interface is one that Prepare made.
func (t *Target) made(id string) bool {
	_, made := t.nodes[id]
	return made
}

func (t *Target) create(tb testing.TB, o *tungsten.Object) {
	tb.Helper()
	_, err := t.Client.Create(tb.Context(), o)
	require.NoError(tb, err)
}

// Verdict judges a flow by the model of the vrouter. Endpoints are on the nodes that they had at the last Prepare.
func (t *Target) Verdict(tb testing.TB, f intent.Flow) backendtest.Verdict {
	tb.Helper()
	if t.network == nil {
		t.network = vrouter.New(t.sorted())
	}
	party := func(p intent.Party) vrouter.Party {
		out := vrouter.Party{Addr: p.Addr}
		if p.Key != (object.Key{}) {
			out.Interface = PortUUID(p.Key)
		}
		return out
	}
	k := vrouter.Packet{Src: party(f.Src), Dst: party(f.Dst), Protocol: uint8(f.Protocol), SourcePort: 40000, Port: f.Port}
	if choices, balanced := t.network.Balance(k); balanced && f.Network == "" {
		return t.balanced(tb, f, choices)
	}
	v := t.network.Verdict(k)
	return backendtest.Verdict{Allowed: v.Allowed || f.Src.Addr == f.Dst.Addr}
}

// balanced judges a flow to a VIP. No verdict may depend on the tags of the route to the VIP.
func (t *Target) balanced(tb testing.TB, f intent.Flow, choices []vrouter.Choice) backendtest.Verdict {
	tb.Helper()
	out := backendtest.Verdict{Allowed: true, Backends: map[netip.AddrPort]bool{}}
	for _, c := range choices {
		if !c.Sure {
			require.Failf(tb, "the verdict depends on which tags the route of a VIP has", "%s by %s", backendtest.FlowText(f), c.Addr)
		}
		v := c.Apart
		if node := t.nodes[c.Interface]; node != "" && node == f.Node {
			v = c.Together
		}
		allowed := v.Allowed || c.Addr == f.Src.Addr // see backendtest.Stepwise
		out.Backends[netip.AddrPortFrom(c.Addr, c.Port)] = allowed
		out.Allowed = out.Allowed && allowed
	}
	return out
}

// sorted lists all objects by UUID.
func (t *Target) sorted() []*tungsten.Object {
	out := make([]*tungsten.Object, 0, len(t.objects))
	for _, o := range t.objects {
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b *tungsten.Object) int { return strings.Compare(a.UUID, b.UUID) })
	return out
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
	var lines []string
	for _, o := range t.objects {
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

// AddForeign adds objects of others: a tag, an address group, and an interface with the tag.
func (t *Target) AddForeign(tb testing.TB) {
	tb.Helper()
	t.create(tb, &tungsten.Object{Kind: tungsten.KindTag, FQName: []string{"label=netloom"}, TagTypeName: "label", TagValue: "netloom"})
	t.create(tb, &tungsten.Object{
		Kind: tungsten.KindAddressGroup, FQName: []string{"default-policy-management", "netloom-by-hand"}, ParentType: tungsten.KindPolicyManagement,
	})
	t.create(tb, &tungsten.Object{
		Kind: tungsten.KindInterface, FQName: []string{"default-domain", "default-project", "by-hand"}, ParentType: tungsten.KindProject,
		VirtualNetworkRefs: []tungsten.Ref{tungsten.RefTo(podNetwork...)}, TagRefs: []tungsten.Ref{tungsten.RefTo("label=netloom")},
	})
	t.foreign = t.others(tb)
}

func (t *Target) others(tb testing.TB) string {
	tb.Helper()
	var lines []string
	for _, o := range t.sorted() {
		if slices.Contains([]string{"label=netloom", "netloom-by-hand", "by-hand"}, o.Name()) {
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

// FailAt makes a write fail without a trace.
func (t *Target) FailAt(k int) { t.failAt(k, simulator.Fail) }

// LoseAt loses the answer to a write.
func (t *Target) LoseAt(k int) { t.failAt(k, simulator.FailAfter) }

func (t *Target) failAt(k int, fault simulator.Fault) {
	if k <= 0 {
		t.Server.Inject(nil)
		return
	}
	left := k
	t.Server.Inject(func(c simulator.Call) simulator.Fault {
		if !c.Write {
			return simulator.NoFault
		}
		if left--; left == 0 {
			return fault
		}
		return simulator.NoFault
	})
}

// Writes counts the successful writes of backends.
func (t *Target) Writes(testing.TB) int { return t.counted.writes }

// Dangling lists references to what is missing.
func (t *Target) Dangling(testing.TB) []string {
	var out []string
	for _, o := range t.sorted() {
		for _, refs := range [][]tungsten.Ref{o.TagRefs, o.FirewallRuleRefs, o.FirewallPolicyRefs, o.AddressGroupRefs} {
			for _, ref := range refs {
				if t.objects[ref.UUID] == nil {
					out = append(out, o.Name()+" refers to "+ref.UUID)
				}
			}
		}
	}
	return out
}
