package translator

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"
	policyv1alpha1 "sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/labelcache"
	ovnkubernetes "github.com/netloom/netloom/pkg/apis/ovnkubernetes/v1"
	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/budget"
	"github.com/netloom/netloom/translator/dirty"
	"github.com/netloom/netloom/translator/field"
	"github.com/netloom/netloom/translator/host"
	"github.com/netloom/netloom/translator/policy"
	"github.com/netloom/netloom/translator/sdwan"
	"github.com/netloom/netloom/translator/service"
	"github.com/netloom/netloom/translator/sets"
)

// Options is what a translator cannot derive from the objects.
type Options struct {
	Cluster string // name of the cluster that the objects come from; "" if there is only one
	// ClusterSet is in which clusters policies find peers. Other values than SingleCluster require Cluster.
	ClusterSet field.ClusterSet
	Families   intent.Families // address families in use; 0 means those that pods have
	// Node is the name of the node whose pods are subjects of policies; "" means all nodes. See the package's documentation.
	Node string
	// OnTag is called for every label of pods and namespaces that is newly used or no longer used, unless it is nil.
	OnTag func(tag labelcache.Tag, inUse bool)
	SDWAN sdwan.Options // what is done on CNFs
	// Firewalls enables the translation of EgressFirewalls of ovn-kubernetes, for questions about what they deny. No target of netloom
	// enforces them: a snapshot with them must not be written.
	Firewalls bool
	// PartsOnly says that every target renders the parts of a rule (intent.Rule.Parts), if it has any, instead of its whole list of
	// peers. The set of such a list is then a composite set, which changes do not list (intent.Set.UnionOf).
	PartsOnly bool
	// Undivided leaves rules without parts. No target renders the snapshots then, which are for answers about connections.
	Undivided bool
	// KeepSets keeps what objects select when they are gone, for a translator that judges many objects one after another and has none of them
	// for long: what many select is looked for once. The snapshots are the same, but intent.IsolatedSet keeps the pods that were isolated.
	KeepSets bool
	// Budget is what one NetworkPolicy or Service may cost. One that costs more fails closed: a policy isolates what it
	// selects and allows nothing, a Service has no backends. The zero value is budget.Default. Only tests set it: what sources deliver is
	// trimmed for the default, so that a larger one would accept a part of a policy.
	Budget budget.Limits
	// Shares is what the NetworkPolicies, Services or pods of one namespace, or of another cluster, may cost together, and those of all. The newest ones beyond it
	// fail closed as well: a pod counts as having no labels, and is isolated. Zeros are those of budget.SharesOf without a memory limit.
	Shares budget.All
}

// Translator holds the current objects and what they translate to. It is not safe for concurrent use; the snapshots it
// returns are.
type Translator struct {
	source field.Source
	node   string // whose pods are subjects; "" means all nodes
	// firewalls has EgressFirewalls translated.
	firewalls bool
	families  intent.Families
	cache     *labelcache.Cache
	dirty     *dirty.Queue
	problems  *object.Problems
	pods      podTable
	opaque    *opaquePods
	remotes   *remotes
	others    map[string]*otherObjects // by cluster
	space     addressSpace
	sets      *sets.Table
	hosts     *host.Table
	policies  *policy.Table
	services  *service.Table
	sdwan     *sdwan.Table
	snapshot  *intent.Snapshot
	ahead     ahead
}

// New makes a translator without objects.
func New(opts Options) *Translator {
	var cacheOpts []labelcache.Option
	if opts.OnTag != nil {
		cacheOpts = append(cacheOpts, labelcache.OnTag(
			func(tag labelcache.Tag) { opts.OnTag(tag, true) },
			func(tag labelcache.Tag) { opts.OnTag(tag, false) },
		))
	}
	t := &Translator{
		source: field.Source{Cluster: opts.Cluster, ClusterSet: opts.ClusterSet, ClusterWide: opts.SDWAN.ClusterWide},
		node:   opts.Node, firewalls: opts.Firewalls,
		families: opts.Families,
		cache:    labelcache.New(cacheOpts...),
		dirty:    &dirty.Queue{},
		problems: &object.Problems{},
		pods:     newPodTable(),
		others:   map[string]*otherObjects{},
		space:    newAddressSpace(),
		snapshot: intent.NewSnapshot(),
	}
	t.hosts = host.NewTable()
	t.sets = sets.NewTable(t.cache, t.hosts, t.dirty, opts.Cluster, opts.Node)
	if opts.KeepSets {
		t.sets.KeepAll()
	}
	shares := opts.Shares.WithDefaults()
	t.policies = policy.NewTable(t.source, opts.Budget, shares.Policies, t.sets, t.hosts, t.dirty, t.problems,
		policy.Form{PartsOnly: opts.PartsOnly, Undivided: opts.Undivided})
	t.opaque = newOpaquePods(opts.Budget, shares.Pods)
	t.remotes = newRemotes(shares.Peers)
	t.services = service.NewTable(t.source, opts.Budget, shares.Services, t.dirty, t.problems)
	t.sdwan = sdwan.NewTable(t.source, opts.SDWAN, t.sets, t.hosts, t.dirty, t.problems)
	return t
}

// Put adds or replaces an object. The object is kept and must not be changed afterwards. An object of a kind that is
// not translated is an error.
func (t *Translator) Put(o any) error {
	switch o := o.(type) {
	case *corev1.Pod:
		t.putPod(o)
	case *corev1.Namespace:
		o = t.source.InSet(t.source.Cluster, o)
		t.cache.SetNamespace(t.source.Cluster, o.Name, o.Labels)
		t.policies.PutNamespace(o)
	case *corev1.Node:
		t.space.putNode(o.Name, o)
		t.policies.PutNode(o)
		t.services.PutNode(o.Name, policy.NodeOf(o, &field.Faults{})) // problems are reported when it is translated
	case *networkingv1.NetworkPolicy, *v1alpha2.ClusterNetworkPolicy, *policyv1alpha1.AdminNetworkPolicy,
		*policyv1alpha1.BaselineAdminNetworkPolicy:
		t.policies.PutPolicy(o.(metav1.Object))
	case *ovnkubernetes.EgressFirewall:
		if t.firewalls {
			t.policies.PutPolicy(o)
		}
	case *corev1.Service:
		t.services.Put(o)
		t.sdwan.PutService(o)
	case *mcsv1alpha1.ServiceImport:
		t.services.PutImport(o)
	case *discoveryv1.EndpointSlice:
		t.services.PutSlice(o)
	default:
		if !t.sdwan.Put(o) {
			return fmt.Errorf("%T is not translated: expected a Pod, Namespace, Node, Service, ServiceImport, EndpointSlice, "+
				"NetworkPolicy, a cluster-wide policy or a resource of %s", o, v1alpha1.GroupVersion)
		}
	}
	return nil
}

// Remove removes an object. An unknown one is not an error.
func (t *Translator) Remove(kind, namespace, name string) {
	ref := object.Ref{Kind: kind, Namespace: namespace, Name: name}
	switch kind {
	case object.KindPod:
		t.dropPod(object.Key{Cluster: t.source.Cluster, Namespace: namespace, Name: name})
		t.sdwan.RemovePod(namespace, name)
	case object.KindNamespace:
		t.cache.DeleteNamespace(t.source.Cluster, name)
		t.policies.RemoveNamespace(name)
	case object.KindNode:
		t.space.putNode(name, nil)
		t.policies.Remove(ref)
		t.services.PutNode(name, nil)
	case object.KindService:
		t.services.Remove(ref)
		t.sdwan.RemoveService(ref)
	case object.KindServiceImport:
		t.services.Remove(ref)
	case object.KindEndpointSlice:
		t.services.RemoveSlice(ref)
	case object.KindNetworkPolicy, object.KindClusterNetworkPolicy, object.KindAdminNetworkPolicy,
		object.KindBaselineAdminNetworkPolicy, object.KindEgressFirewall:
		t.policies.Remove(ref)
	default:
		t.sdwan.Remove(ref)
	}
}

// Problems lists what could not be translated, in order, as of the last Snapshot. The list must not be changed.
func (t *Translator) Problems() []object.Problem { return t.problems.All() }

// ProblemsOf lists those of one object, in order.
func (t *Translator) ProblemsOf(ref object.Ref) []object.Problem { return t.problems.Of(ref) }

// View returns the view of the label cache at the last snapshot.
func (t *Translator) View() labelcache.View { return t.sets.View() }

// Policy returns a policy of any kind as it was last put; false if there is none. It must not be changed.
func (t *Translator) Policy(ref object.Ref) (metav1.Object, bool) { return t.policies.Policy(ref) }

// SetUnknown sets the areas that are unavailable because their sources could not be read, for the next snapshot. Without load
// balancers, that is Services, devices are unavailable too if they are made from Services, and names of Services are resolved
// by DNS.
func (t *Translator) SetUnknown(areas intent.Areas) { t.sdwan.SetUnknown(areas) }

// Staged lists the policies that are staged (object.IsStaged), sorted, as of the last Snapshot: they are not part of it. The list must not be
// changed.
func (t *Translator) Staged() []object.Ref { return t.policies.Staged() }

// Hosts lists the DNS names in objects that are not Services of the API, sorted, as of the last Snapshot. As long as a
// name has not been set with SetHost, what depends on it is a Problem: a rule of a cluster-wide policy accepts nothing for it,
// and in the snapshot it is Unknown for CNFs, which keep what they may have of it.
func (t *Translator) Hosts() []string { return t.hosts.Names() }

// SetHost sets the addresses of a DNS name of Hosts; none means that it does not resolve. A name that was never in
// Hosts is ignored.
func (t *Translator) SetHost(name string, addrs []netip.Addr) {
	switch t.hosts.Set(name, addrs) {
	case host.Standing:
		t.policies.HostChanged(name)
		fallthrough
	case host.Addresses:
		t.sets.HostChanged(name)
		t.sdwan.HostChanged(name)
	case host.Nothing:
	}
}
