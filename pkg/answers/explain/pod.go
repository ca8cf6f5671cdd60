package explain

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Pod is the effect of policies on a pod.
type Pod struct {
	Name      string            `json:"name"` // [cluster/]namespace/name
	Node      string            `json:"node,omitempty"`
	Network   string            `json:"network,omitempty"` // of a network plugin; "" for the default one
	Addresses []string          `json:"addresses,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Ports     []string          `json:"ports,omitempty"` // those with a name, such as "http tcp/8080"
	Services  []string          `json:"services,omitempty"`
	// Note is why policies do not see it, or that its policies are not known; then it has no sides.
	Note string `json:"note,omitempty"`
	// PeerIn are the rules of the own cluster that match a pod of another cluster as a peer.
	PeerIn  []world.Rule `json:"peerIn,omitempty"`
	Ingress *Side        `json:"ingress,omitempty"`
	Egress  *Side        `json:"egress,omitempty"`
	// Staged are the staged policies that select it: they decide nothing.
	Staged   []string         `json:"staged,omitempty"`
	Problems []object.Problem `json:"problems,omitempty"`
}

// Side is one direction of a pod's traffic.
type Side struct {
	IsolatedBy []string `json:"isolatedBy,omitempty"` // the NetworkPolicies that select it; without any, other tiers decide
	// Admin are the cluster-wide policies that select it and are evaluated before NetworkPolicies, Baseline those after, in the order
	// of evaluation.
	Admin    []ClusterPolicy `json:"admin,omitempty"`
	Baseline []ClusterPolicy `json:"baseline,omitempty"`
	// Reach are the ends with which traffic passes, considering both their policies and those of the pod. All others are
	// cut off.
	Reach []Reach `json:"reach"`
	// Undecided are the clusters with pods in Reach whose own policies are not considered.
	Undecided []string `json:"undecided,omitempty"`
}

// ClusterPolicy is a cluster-wide policy and its place in its tier.
type ClusterPolicy struct {
	Policy   string  `json:"policy"`             // such as ClusterNetworkPolicy/lockdown
	Priority *uint16 `json:"priority,omitempty"` // none for a BaselineAdminNetworkPolicy, which comes last
}

// Reach is a set of ends that the same traffic passes to, or from.
type Reach struct {
	reach.Group
	Nodes  []string     `json:"nodes,omitempty"`
	Ports  string       `json:"ports"`            // in words, such as "tcp/80, udp/53" or "everything"
	By     []world.Rule `json:"by,omitempty"`     // the pod's own rules for these ends, in order of evaluation
	Family string       `json:"family,omitempty"` // ipv4 or ipv6 if it applies to one of them only

	traffic reach.Traffic
	ofNodes []netip.Prefix // the addresses of Nodes
}

func explainPod(w *world.World, name string) *Pod {
	out := &Pod{Name: w.Prefix() + name, Problems: w.ProblemsOf(object.KindPod, name)}
	namespace, short, _ := strings.Cut(name, "/")
	e, ok := w.State.View.Endpoint(w.Key(namespace, short))
	if !ok {
		p := w.Pod(name)
		out.Node, out.Labels, out.Addresses = p.Spec.NodeName, p.Labels, w.AddrTexts(world.PodAddrs(p))
		out.Note = "it is on the host network: for policies it is node " + p.Spec.NodeName
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			out.Note = "it has finished: policies no longer apply to it"
		}
		return out
	}
	out.Node, out.Labels, out.Addresses = e.Node, e.Labels, w.AddrTexts(e.AllAddrs())
	out.Staged = stagedOn(w, e.Key)
	if len(e.AllAddrs()) == 0 {
		out.Note = "it has no address yet and cannot be reached; its isolation is in place"
	}
	if w.State.Networks != nil {
		out.Network = w.State.Networks.Of[e.Key]
	}
	for _, p := range e.Ports {
		out.Ports = append(out.Ports, fmt.Sprintf("%s %s/%d", p.Name, p.Protocol, p.Number))
	}
	out.Services = servicesOf(w, e.Addrs)
	if own := w.Home(); own != w {
		out.PeerIn = peerRules(own, e.Key)
	}
	if !w.Judges() {
		out.Note = "its policies are those of cluster " + w.State.Cluster + ", which were not read"
		return out
	}
	r := newReacher(w, e)
	out.Ingress, out.Egress = r.side(intent.Ingress), r.side(intent.Egress)
	return out
}

// peerRules lists the rules that match a pod as a peer by its labels.
func peerRules(w *world.World, k object.Key) []world.Rule {
	var out []world.Rule
	for p := range w.State.Snapshot.Policies() {
		for i := range p.Rules {
			r := &p.Rules[i]
			if r.Peer.Kind == intent.PeerSet && w.State.Snapshot.Set(r.Peer.Set).HasKey(k) {
				out = append(out, world.Rule{Policy: p.Origin.String(), Path: r.Path, Name: r.Name, Action: actionText(r.Action)})
			}
		}
	}
	return world.MergeRules(out)
}

// IsolatedBy lists the NetworkPolicies that isolate a pod, named as namespace/name, in each direction.
func IsolatedBy(w *world.World, pod string) (ingress, egress []string) {
	namespace, name, _ := strings.Cut(pod, "/")
	party := intent.Party{Key: w.Key(namespace, name)}
	return isolating(w, intent.Ingress, party), isolating(w, intent.Egress, party)
}

func isolating(w *world.World, d intent.Direction, p intent.Party) []string {
	var out []string
	for _, of := range w.PoliciesOf(d, p) {
		if of.Isolates {
			out = append(out, of.Origin.String())
		}
	}
	return out
}

// servicesOf are the Services that send to one of some addresses.
func servicesOf(w *world.World, addrs []netip.Addr) []string {
	var out []string
	for lb := range w.State.Snapshot.LoadBalancers() {
		if slices.ContainsFunc(lb.Frontends, func(f intent.Frontend) bool {
			for b := range f.Backends.All() {
				if slices.Contains(addrs, b.Addr) {
					return true
				}
			}
			return false
		}) {
			out = append(out, lb.Origin.String())
		}
	}
	return out
}

// reacher finds out what one pod reaches and what reaches it.
type reacher struct {
	w       *world.World
	e       *labelcache.Endpoint
	areas   reach.Areas
	classes []*reach.Class
}

func newReacher(w *world.World, e *labelcache.Endpoint) *reacher {
	s := w.State.Snapshot
	all := make([]intent.Endpoint, len(w.Endpoints()))
	for i, o := range w.Endpoints() {
		all[i] = intent.Endpoint{Key: o.Key, Addrs: o.Addrs, Node: o.Node}
	}
	held := func(a netip.Addr) bool { return len(w.PodsAt(a)) > 0 }
	places := append(reach.PlacesOf(all), reach.Outside(held, s)...)
	return &reacher{w: w, e: e, areas: reach.AreasOf(places), classes: reach.Classify(places, s)}
}

// own is the class of the pod's first address of a family, and the address; nil if it has none.
func (r *reacher) own(family intent.Families) (*reach.Class, netip.Addr) {
	for _, c := range r.classes {
		for _, p := range c.Places {
			if c.Family == family && p.Party.Key == r.e.Key {
				return c, p.Party.Addr
			}
		}
	}
	return nil, netip.Addr{}
}

func (r *reacher) side(d intent.Direction) *Side {
	out := &Side{Reach: []Reach{}, IsolatedBy: isolating(r.w, d, intent.Party{Key: r.e.Key})}
	out.Admin, out.Baseline = r.clusterPolicies(d, intent.TierAdmin), r.clusterPolicies(d, intent.TierBaseline)
	families := 0
	for _, family := range []intent.Families{intent.IPv4, intent.IPv6} {
		own, addr := r.own(family)
		if own == nil {
			continue
		}
		families++
		for _, c := range r.classes {
			if found, ok := r.between(d, own, addr, c); ok {
				out.add(found)
			}
		}
	}
	out.settle(families)
	out.Undecided = r.undecided(out)
	return out
}

// undecided lists the other clusters that have pods on a side.
func (r *reacher) undecided(s *Side) []string {
	reached, found := map[string]bool{}, map[string]bool{}
	for i := range s.Reach {
		for _, name := range s.Reach[i].Pods {
			reached[name] = true
		}
	}
	for _, e := range r.w.Endpoints() {
		if !r.w.IsOwn(e) && reached[r.w.NameOf(e.Key)] {
			found[e.Key.Cluster] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// clusterPolicies lists the cluster-wide policies of a tier that select the pod, in the order of evaluation.
func (r *reacher) clusterPolicies(d intent.Direction, t intent.Tier) []ClusterPolicy {
	var out []ClusterPolicy
	for _, p := range r.inOrder(d) {
		if p.Tier == t {
			_, priority := tierOf(p)
			out = append(out, ClusterPolicy{p.Origin.String(), priority})
		}
	}
	return out
}

// inOrder lists the policies that select the pod in the order of evaluation: NetworkPolicies by ID, others by precedence.
func (r *reacher) inOrder(d intent.Direction) []*intent.Policy {
	var out []*intent.Policy
	of := r.w.PoliciesOf(d, intent.Party{Key: r.e.Key})
	for _, t := range intent.Tiers() {
		first := len(out)
		for _, p := range of {
			if p.Tier == t {
				out = append(out, p)
			}
		}
		if t.Ordered() {
			slices.SortFunc(out[first:], (*intent.Policy).Compare)
		}
	}
	return out
}

// between is the traffic between the pod and a class; false if there is none, or the class has no other place.
func (r *reacher) between(d intent.Direction, own *reach.Class, addr netip.Addr, c *reach.Class) (Reach, bool) {
	from, to := own, c
	if d == intent.Ingress {
		from, to = c, own
	}
	t := from.Traffic(0, to)
	if c.Family != own.Family || t.Empty() {
		return Reach{}, false
	}
	out := Reach{Ports: t.String(), Family: world.FamilyOf(addr), traffic: t}
	var peer netip.Addr
	var outside []reach.Place
	for _, p := range c.Places {
		if p.Party.Key == r.e.Key {
			continue
		}
		peer = p.Party.Addr
		node := r.w.NodeAt(p.Standing.Addr())
		switch {
		case !p.Standing.IsValid():
			out.Pods = append(out.Pods, r.w.NameOf(p.Party.Key))
		case p.Standing.IsSingleIP() && node != "":
			out.Nodes, out.ofNodes = append(out.Nodes, node), append(out.ofNodes, p.Standing)
		default:
			outside = append(outside, p)
		}
	}
	out.Outside = r.areas.Of(outside)
	if len(out.Pods)+len(out.Nodes)+len(out.Outside) == 0 {
		return Reach{}, false
	}
	out.By = r.rulesFor(d, addr, peer)
	return out, true
}

// rulesFor are the pod's own rules for a peer, whatever the port. If the pod is isolated, the baseline tier does not decide.
func (r *reacher) rulesFor(d intent.Direction, own, peer netip.Addr) []world.Rule {
	me, other := intent.Party{Key: r.e.Key, Addr: own}, intent.Party{Addr: peer}
	f := &intent.Flow{Src: me, Dst: other}
	if d == intent.Ingress {
		f.Src, f.Dst = other, me
	}
	var out []world.Rule
	policies := r.inOrder(d)
	isolated := slices.ContainsFunc(policies, func(p *intent.Policy) bool { return p.Isolates })
	for _, p := range policies {
		if p.Tier == intent.TierBaseline && isolated {
			continue
		}
		for i := range p.Rules {
			m := r.w.Match(&p.Rules[i], d, f)
			rule := world.Rule{Policy: p.Origin.String(), Path: p.Rules[i].Path, Name: p.Rules[i].Name, Action: actionText(p.Rules[i].Action)}
			if m.Subject && m.Peer && !slices.Contains(out, rule) {
				out = append(out, rule)
			}
		}
	}
	return out
}

// actionText names an action that does not allow.
func actionText(a intent.Action) string {
	if a == intent.Allow {
		return ""
	}
	return a.String()
}

// add merges ends of one family that the same traffic passes to, by the same rules.
func (s *Side) add(found Reach) {
	for i := range s.Reach {
		if r := &s.Reach[i]; r.Family == found.Family && r.Ports == found.Ports && slices.Equal(r.By, found.By) {
			r.join(&found)
			return
		}
	}
	s.Reach = append(s.Reach, found)
}

func (r *Reach) join(o *Reach) {
	r.Add(&o.Group)
	r.Nodes = append(r.Nodes, o.Nodes...)
	slices.Sort(r.Nodes)
	r.Nodes = slices.Compact(r.Nodes)
	r.ofNodes = append(r.ofNodes, o.ofNodes...)
}

// settle merges what both families have in common, and sorts pods first.
func (s *Side) settle(families int) {
	var out []Reach
	for _, r := range s.Reach {
		if len(r.Outside) > 0 && len(r.Nodes) > 0 { // they are nothing apart
			r.Outside, r.Nodes = intent.MergePrefixes(slices.Concat(r.Outside, r.ofNodes)), nil
		}
		i := slices.IndexFunc(out, func(o Reach) bool {
			return o.Ports == r.Ports && slices.Equal(o.By, r.By) && slices.Equal(o.Pods, r.Pods) &&
				slices.Equal(o.Nodes, r.Nodes)
		})
		if i >= 0 {
			out[i].join(&r)
			out[i].Family = ""
			continue
		}
		if families == 1 {
			r.Family = ""
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b Reach) int {
		return cmp.Or(cmp.Compare(a.First(), b.First()), cmp.Compare(a.Ports, b.Ports))
	})
	for i := range out {
		out[i].Pods = reach.AsWorkloads(out[i].Pods)
	}
	if out != nil {
		s.Reach = out
	}
}
