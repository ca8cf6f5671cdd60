package tungsten

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Options are the owner of a backend's objects and how it finds the interfaces of pods.
type Options struct {
	// Owner distinguishes clusters that share a controller: 1 to 32 characters of a-z, 0-9 and dash.
	Owner string
	// Clusters are the names under which kube-manager annotates interfaces, and the clusters of endpoints that they stand for. Nil
	// takes every interface of a pod for one of the only, unnamed cluster if its annotation names no cluster or DefaultCluster.
	// Endpoints of other clusters are peers by their addresses.
	Clusters map[string]string
	// ServiceNetwork is the fully qualified name of the virtual network that has the cluster addresses of Services, of which the first
	// two parts are the project of load balancers. Nil: there are none.
	ServiceNetwork []string
}

// DefaultCluster is the name that kube-manager gives to a cluster by default.
const DefaultCluster = "k8s"

// Backend keeps the policies of one owner on one controller in sync with a snapshot. Create it with New.
type Backend struct {
	api      API
	names    namer
	clusters map[string]string
	local    locality // the clusters of clusters
	network  []string // of Services; nil if there is none

	lowering   *intent.Lowering
	explainer  *Explainer
	interfaces interfaces
	addresses  interfaces // instance IPs, likewise

	model   *model   // nil if it is not known what the target has
	pending *pending // what the last plan would turn the model into
	keep    map[object.Ref]bool
	full    map[string]bool       // types of tags that the controller has no ID left for
	barred  map[netip.Addr]string // VIPs whose load balancers it refused, and why
	begun   bool                  // something was read back
	learned bool                  // a load balancer was refused, and nothing has been read back since
	refused map[string]string     // requests that it refused in the last plan, and why; see refusal.go
	lost    atomic.Pointer[error] // why there is no change stream; nil if there is one, or if none was opened yet
	deaf    atomic.Bool           // the change stream ended, and nothing has been asked since
	asked   bool                  // the controller was asked for this plan whether it enforces what is written
	// own are events of the owner's objects. What follows is as of the last Confirm: objects and tags of interfaces that others changed,
	// by UUID, and the endpoints of interfaces that changed and have not been planned yet.
	own      *ownEvents
	foreign  map[string]altered
	retagged map[string]string // the name of the interface
	moved    []object.Key
	doubt    bool // something that was to be removed was not found: only a read-back shows what the target has
	// published is the coverage of the last plan, for every goroutine; nil before the first.
	published atomic.Pointer[backends.Coverage]
}

var ownerPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

// New makes the backend of the controller that api talks to.
func New(api API, opts Options) (*Backend, error) {
	if !ownerPattern.MatchString(opts.Owner) {
		return nil, fmt.Errorf("owner %q: expected 1 to 32 of a-z, 0-9 and, inside, dash", opts.Owner)
	}
	if opts.Clusters == nil {
		opts.Clusters = map[string]string{"": "", DefaultCluster: ""}
	}
	if n := len(opts.ServiceNetwork); n != 0 && n != 3 {
		return nil, fmt.Errorf("service network %q: expected a domain, a project and a name", strings.Join(opts.ServiceNetwork, ":"))
	}
	local := locality{}
	for _, cluster := range opts.Clusters {
		local[cluster] = true
	}
	return &Backend{
		local: local, network: opts.ServiceNetwork, addresses: newInterfaces(), barred: map[netip.Addr]string{},
		api: api, names: namer{opts.Owner}, clusters: opts.Clusters, lowering: intent.NewLowering(maxRaised),
		explainer: &Explainer{names: namer{opts.Owner}, local: local}, interfaces: newInterfaces(), full: map[string]bool{},
		own: newOwnEvents(), foreign: map[string]altered{}, retagged: map[string]string{},
	}, nil
}

// Close implements backends.Backend. The client stays open.
func (b *Backend) Close() error { return nil }

// Keep implements backends.Keeper.
func (b *Backend) Keep(objects []object.Ref) {
	b.keep = make(map[object.Ref]bool, len(objects))
	for _, o := range objects {
		b.keep[o] = true
	}
}

// Coverage implements backends.Coverer.
func (b *Backend) Coverage() (backends.Coverage, bool) {
	if c := b.published.Load(); c != nil {
		return *c, true
	}
	return backends.Coverage{}, false
}

// ClosesFirst reports whether a plan of this backend, not yet applied, has to close before it opens: then it may drop for a moment
// what both states allow by different rules.
func (b *Backend) ClosesFirst(p *backends.Plan) bool {
	return b.pending != nil && b.pending.plan.Revision == p.Revision && b.pending.closesFirst
}

// retries reports whether a read-back tries again what was refused before: load balancers, and tags without an ID. One that is the
// first, or that is caused by a refusal, does not.
func (b *Backend) retries() bool {
	again := b.begun && !b.learned
	if again {
		b.barred = map[netip.Addr]string{}
	}
	b.begun, b.learned = true, false
	return again
}

// forgetForeign records that nothing that others changed is left to repair.
func (b *Backend) forgetForeign() {
	b.foreign, b.retagged = map[string]altered{}, map[string]string{}
}

// CountRows implements backends.RowCounter. It counts firewall rules.
func (b *Backend) CountRows(want *intent.Snapshot, of intent.Origin) int {
	return len(b.explainer.PolicyRows(want, of))
}
