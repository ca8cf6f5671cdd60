package query

import (
	"net/netip"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Intents is a snapshot as data: everything in order of its ID.
type Intents struct {
	Revision      intent.Revision  `json:"revision"`
	Sets          []SetIntent      `json:"sets"`
	Policies      []PolicyIntent   `json:"policies"`
	LoadBalancers []BalancerIntent `json:"loadBalancers,omitempty"`
	CNFs          []CNF            `json:"cnfs,omitempty"`
	DeviceIntents []DeviceIntent   `json:"deviceIntents,omitempty"`
	// Unknown lists what could not be read: the lists above are incomplete then.
	Unknown []string `json:"unknown,omitempty"`
}

// SetIntent is a set with its members.
type SetIntent struct {
	ID       string         `json:"id"`
	Title    string         `json:"title,omitempty"`
	Members  []string       `json:"members,omitempty"` // as [cluster/]namespace/name
	Prefixes []netip.Prefix `json:"prefixes,omitempty"`
	Within   []netip.Prefix `json:"within,omitempty"` // narrows the members' addresses
}

// PolicyIntent is the intent of one object in one direction.
type PolicyIntent struct {
	ID        string         `json:"id"`
	Origin    string         `json:"origin"` // such as NetworkPolicy/shop/db
	Direction string         `json:"direction"`
	Tier      string         `json:"tier,omitempty"`     // system, admin or baseline; "" is that of NetworkPolicies
	Priority  *uint16        `json:"priority,omitempty"` // in the tier admin or baseline, lowest first
	Subject   string         `json:"subject"`            // ID of a set
	Isolates  bool           `json:"isolates"`
	Log       *LoggingIntent `json:"log,omitempty"`
	Rules     []RuleIntent   `json:"rules,omitempty"`
}

// LoggingIntent is the severities with which connections are logged, and the maximum rate per second.
type LoggingIntent struct {
	Allow string `json:"allow,omitempty"`
	Deny  string `json:"deny,omitempty"`
	Rate  uint32 `json:"rate,omitempty"`
}

// RuleIntent is a rule of a policy. Their order matters in the tiers admin and baseline.
type RuleIntent struct {
	Path    string       `json:"path"` // its path in the object
	Name    string       `json:"name,omitempty"`
	Action  string       `json:"action"`
	Subject string       `json:"subject,omitempty"` // ID of a set that narrows the policy's subject
	Peer    string       `json:"peer"`              // ID of a set, any or none
	Ports   []string     `json:"ports"`
	Parts   []PartIntent `json:"parts,omitempty"` // the same once more, with what several policies have in common
}

// PartIntent is one of several peers of a rule.
type PartIntent struct {
	Peer   string `json:"peer"`             // ID of a set, or any
	Shared string `json:"shared,omitempty"` // ID of the set of all pods that some policy allows exactly this
}

// BalancerIntent is the intent of one Service.
type BalancerIntent struct {
	ID              string           `json:"id"`
	Origin          string           `json:"origin"`
	Network         string           `json:"network,omitempty"`
	Affinity        uint32           `json:"affinitySeconds,omitempty"`
	RejectEmpty     bool             `json:"rejectEmpty,omitempty"`
	HealthCheckPort uint16           `json:"healthCheckPort,omitempty"`
	Frontends       []FrontendIntent `json:"frontends"`
}

// FrontendIntent is an address at which connections are load-balanced.
type FrontendIntent struct {
	Address  string          `json:"address"` // such as tcp/10.96.0.1:80
	Kind     string          `json:"kind"`
	Path     string          `json:"path"`
	Node     string          `json:"node,omitempty"`
	Locality string          `json:"locality"`
	Denied   []string        `json:"denied,omitempty"`
	Backends []BackendIntent `json:"backends,omitempty"`
}

// BackendIntent is a backend of a connection.
type BackendIntent struct {
	Address  string   `json:"address"`
	Pod      string   `json:"pod,omitempty"`
	Node     string   `json:"node,omitempty"`
	ForNodes []string `json:"forNodes,omitempty"`
	ForZones []string `json:"forZones,omitempty"`
	Draining bool     `json:"draining,omitempty"`
}

// Intents is the content of the snapshot, without addresses that are made up.
func (s *State) Intents() Intents {
	d := IntentsOf(s.Snapshot)
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

// IntentsOf is the content of a snapshot.
func IntentsOf(s *intent.Snapshot) Intents {
	d := Intents{Revision: s.Revision(), Sets: []SetIntent{}, Policies: []PolicyIntent{}}
	for set := range s.Sets() {
		d.Sets = append(d.Sets, setIntent(set))
	}
	for p := range s.Policies() {
		d.Policies = append(d.Policies, policyIntent(p))
	}
	for lb := range s.LoadBalancers() {
		d.LoadBalancers = append(d.LoadBalancers, balancerIntent(lb))
	}
	for g := range s.CNFs() {
		d.CNFs = append(d.CNFs, cnfOf(g))
	}
	for e := range s.DeviceIntents() {
		d.DeviceIntents = append(d.DeviceIntents, deviceIntent(e))
	}
	d.Unknown = Unknown(s)
	return d
}

func setIntent(set *intent.Set) SetIntent {
	d := SetIntent{ID: string(set.ID), Title: set.Title, Prefixes: set.Prefixes, Within: set.Within}
	if set.Members != nil {
		for e := range set.Members.All() {
			d.Members = append(d.Members, e.Key.String())
		}
		slices.Sort(d.Members)
	}
	return d
}

func policyIntent(p *intent.Policy) PolicyIntent {
	d := PolicyIntent{
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
	if p.Log != (intent.Logging{}) {
		d.Log = &LoggingIntent{Allow: p.Log.Allow.String(), Deny: p.Log.Deny.String(), Rate: p.Log.Rate}
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		rule := RuleIntent{
			Path: r.Path, Name: r.Name, Action: r.Action.String(), Subject: string(r.Subject), Peer: peerText(r.Peer),
			Ports: r.Ports.Strings(),
		}
		for _, part := range r.Parts {
			rule.Parts = append(rule.Parts, PartIntent{Peer: peerText(part.Peer), Shared: string(part.Shared)})
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

func balancerIntent(lb *intent.LoadBalancer) BalancerIntent {
	d := BalancerIntent{
		ID: string(lb.ID), Origin: lb.Origin.String(), Network: lb.Network, Affinity: lb.Affinity,
		RejectEmpty: lb.RejectEmpty, HealthCheckPort: lb.HealthCheckPort, Frontends: []FrontendIntent{},
	}
	for i := range lb.Frontends {
		f := &lb.Frontends[i]
		front := FrontendIntent{
			Address: f.String(), Kind: f.Kind.String(), Path: f.Path, Node: f.Node, Locality: f.Locality.String(),
			Denied: texts(f.Denied),
		}
		for n := range f.Backends {
			front.Backends = append(front.Backends, backendIntent(&f.Backends[n]))
		}
		d.Frontends = append(d.Frontends, front)
	}
	return d
}

func backendIntent(b *intent.Backend) BackendIntent {
	d := BackendIntent{
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
