package intents

import (
	"net/netip"
	"slices"

	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// List is a snapshot as data: everything in order of its ID.
type List struct {
	Revision      intent.Revision `json:"revision"`
	Sets          []Set           `json:"sets"`
	Policies      []Policy        `json:"policies"`
	LoadBalancers []Balancer      `json:"loadBalancers,omitempty"`
	CNFs          []CNF           `json:"cnfs,omitempty"`
	DeviceIntents []Device        `json:"deviceIntents,omitempty"`
	// Unknown lists what could not be read: the lists above are incomplete then.
	Unknown []string `json:"unknown,omitempty"`
}

// Set is a set with its members.
type Set struct {
	ID       string         `json:"id"`
	Title    string         `json:"title,omitempty"`
	Members  []string       `json:"members,omitempty"` // as [cluster/]namespace/name
	Prefixes []netip.Prefix `json:"prefixes,omitempty"`
	Within   []netip.Prefix `json:"within,omitempty"` // narrows the members' addresses
	Subjects int            `json:"-"`                // members, those that stand for one workload as one
}

// Policy is the intent of one object in one direction.
type Policy struct {
	ID        string   `json:"id"`
	Origin    string   `json:"origin"` // such as NetworkPolicy/shop/db
	Direction string   `json:"direction"`
	Tier      string   `json:"tier,omitempty"`     // system, admin or baseline; "" is that of NetworkPolicies
	Priority  *uint16  `json:"priority,omitempty"` // in the tier admin or baseline, lowest first
	Subject   string   `json:"subject"`            // ID of a set
	Isolates  bool     `json:"isolates"`
	Log       *Logging `json:"log,omitempty"`
	Rules     []Rule   `json:"rules,omitempty"`
	// Undeclared are the named ports that allow nothing, since no selected pod declares them: the field, and what is wrong.
	Undeclared []string `json:"undeclared,omitempty"`
}

// Logging is the severities with which connections are logged, and the maximum rate per second.
type Logging struct {
	Allow string `json:"allow,omitempty"`
	Deny  string `json:"deny,omitempty"`
	Rate  uint32 `json:"rate,omitempty"`
}

// Rule is a rule of a policy. Their order matters in the tiers admin and baseline.
type Rule struct {
	Path    string   `json:"path"` // its path in the object
	Name    string   `json:"name,omitempty"`
	Action  string   `json:"action"`
	Subject string   `json:"subject,omitempty"` // ID of a set that narrows the policy's subject
	Peer    string   `json:"peer"`              // ID of a set, any or none
	Ports   []string `json:"ports"`
	Parts   []Part   `json:"parts,omitempty"` // the same once more, with what several policies have in common
}

// Part is one of several peers of a rule.
type Part struct {
	Peer   string `json:"peer"`             // ID of a set, or any
	Shared string `json:"shared,omitempty"` // ID of the set of all pods that some policy allows exactly this
}

// Balancer is the intent of one Service.
type Balancer struct {
	ID              string     `json:"id"`
	Origin          string     `json:"origin"`
	Network         string     `json:"network,omitempty"`
	Affinity        uint32     `json:"affinitySeconds,omitempty"`
	RejectEmpty     bool       `json:"rejectEmpty,omitempty"`
	HealthCheckPort uint16     `json:"healthCheckPort,omitempty"`
	Frontends       []Frontend `json:"frontends"`
}

// Frontend is an address at which connections are load-balanced.
type Frontend struct {
	Address  string    `json:"address"` // such as tcp/10.96.0.1:80
	Kind     string    `json:"kind"`
	Path     string    `json:"path"`
	Node     string    `json:"node,omitempty"`
	Locality string    `json:"locality"`
	Denied   []string  `json:"denied,omitempty"`
	Backends []Backend `json:"backends,omitempty"`
}

// Backend is a backend of a connection.
type Backend struct {
	Address  string   `json:"address"`
	Pod      string   `json:"pod,omitempty"`
	Node     string   `json:"node,omitempty"`
	ForNodes []string `json:"forNodes,omitempty"`
	ForZones []string `json:"forZones,omitempty"`
	Draining bool     `json:"draining,omitempty"`
}

// Of is the content of the snapshot of a state, without addresses that are made up.
func Of(s *world.State) List {
	d := OfSnapshot(s.Snapshot)
	for i := range d.LoadBalancers {
		for k := range d.LoadBalancers[i].Frontends {
			f := &d.LoadBalancers[i].Frontends[k]
			f.Address = s.Shown(f.Address)
			for n := range f.Backends {
				f.Backends[n].Address = s.Shown(f.Backends[n].Address)
			}
		}
	}
	return d
}

// OfSnapshot is the content of a snapshot.
func OfSnapshot(s *intent.Snapshot) List {
	d := List{Revision: s.Revision(), Sets: []Set{}, Policies: []Policy{}}
	for set := range s.Sets() {
		d.Sets = append(d.Sets, ofSet(set))
	}
	for p := range s.Policies() {
		policy := ofPolicy(p)
		for _, u := range p.UndeclaredIn(s) {
			policy.Undeclared = append(policy.Undeclared, u.Field+": "+u.String())
		}
		d.Policies = append(d.Policies, policy)
	}
	for lb := range s.LoadBalancers() {
		d.LoadBalancers = append(d.LoadBalancers, OfBalancer(lb))
	}
	for g := range s.CNFs() {
		d.CNFs = append(d.CNFs, OfCNF(g))
	}
	for e := range s.DeviceIntents() {
		d.DeviceIntents = append(d.DeviceIntents, OfDevice(e))
	}
	d.Unknown = world.Unknown(s)
	return d
}

func ofSet(set *intent.Set) Set {
	d := Set{ID: string(set.ID), Title: set.Title, Prefixes: set.Prefixes, Within: set.Within, Subjects: set.Subjects()}
	if set.Members != nil {
		for e := range set.Members.All() {
			d.Members = append(d.Members, e.Key.String())
		}
		slices.Sort(d.Members)
	}
	return d
}

func ofPolicy(p *intent.Policy) Policy {
	d := Policy{
		ID: string(p.ID), Origin: p.Origin.String(), Direction: p.Direction.String(), Subject: string(p.Subject),
		Isolates: p.Isolates,
	}
	if p.Tier != intent.TierNetworkPolicy {
		d.Tier = p.Tier.String()
	}
	if p.Tier.Ordered() {
		priority := p.Priority
		d.Priority = &priority
	}
	d.Log = LoggingOf(p)
	for i := range p.Rules {
		r := &p.Rules[i]
		rule := Rule{
			Path: r.Path, Name: r.Name, Action: r.Action.String(), Subject: string(r.Subject), Peer: peerText(r.Peer),
			Ports: r.Ports.Strings(),
		}
		for _, part := range r.Parts {
			rule.Parts = append(rule.Parts, Part{Peer: peerText(part.Peer), Shared: string(part.Shared)})
		}
		d.Rules = append(d.Rules, rule)
	}
	return d
}

func peerText(p intent.Peer) string {
	switch p.Kind {
	case intent.PeerAny:
		return "any"
	case intent.PeerSet:
		return string(p.Set)
	case intent.PeerNone:
		return "none"
	default:
		return "unknown"
	}
}

// OfBalancer is a load balancer as data.
func OfBalancer(lb *intent.LoadBalancer) Balancer {
	d := Balancer{
		ID: string(lb.ID), Origin: lb.Origin.String(), Network: lb.Network, Affinity: lb.Affinity,
		RejectEmpty: lb.RejectEmpty, HealthCheckPort: lb.HealthCheckPort, Frontends: []Frontend{},
	}
	for i := range lb.Frontends {
		f := &lb.Frontends[i]
		front := Frontend{
			Address: f.String(), Kind: f.Kind.String(), Path: f.Path, Node: f.Node, Locality: f.Locality.String(),
			Denied: texts(f.Denied),
		}
		for b := range f.Backends.All() {
			front.Backends = append(front.Backends, OfBackend(b))
		}
		d.Frontends = append(d.Frontends, front)
	}
	return d
}

// OfBackend is a backend as data.
func OfBackend(b *intent.Backend) Backend {
	d := Backend{
		Address: b.AddrPort().String(), Node: b.Node, ForNodes: b.ForNodes, ForZones: b.ForZones, Draining: b.Draining,
	}
	if b.Key != (object.Key{}) {
		d.Pod = b.Key.String()
	}
	return d
}

// texts formats each of a list.
func texts[T interface{ String() string }](list []T) []string {
	var out []string
	for _, v := range list {
		out = append(out, v.String())
	}
	return out
}

// LoggingOf is how a policy is logged; nil if it is not.
func LoggingOf(p *intent.Policy) *Logging {
	if p.Log == (intent.Logging{}) {
		return nil
	}
	return &Logging{Allow: p.Log.Allow.String(), Deny: p.Log.Deny.String(), Rate: p.Log.Rate}
}
