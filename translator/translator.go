package translator

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/translator/budget"
)

// The kinds of objects that are translated, as Remove spells them.
const (
	KindEndpointSlice = "EndpointSlice"
	KindNamespace     = "Namespace"
	KindNetworkPolicy = "NetworkPolicy"
	KindNode          = "Node"
	KindPod           = "Pod"
	KindService       = "Service"
)

// Options says what a translator cannot learn from the objects.
type Options struct {
	Cluster  string          // name of the cluster that the objects come from; "" is the only one
	Families intent.Families // address families in use; 0 takes those that pods hold
	// Node is the name of the node whose pods are subjects of policies; "" is all nodes. See the package's documentation.
	Node string
	// OnTag is told of every label of pods and namespaces that came into use or went out of it; nil is told nothing.
	OnTag func(tag labelcache.Tag, inUse bool)
	Edges EdgeOptions // what is done at the edge of the cluster
	// Budget says what one NetworkPolicy or Service may cost. One that costs more fails closed: a policy isolates what it
	// selects and allows nothing, a Service leads nowhere. The zero value is budget.Default.
	Budget budget.Limits
}

// Translator holds the current objects and what they translate to. It is not safe for concurrent use; the snapshots it
// hands out are.
type Translator struct {
	cluster  string
	node     string // whose pods are subjects; "" is all nodes
	options  EdgeOptions
	families intent.Families
	budget   budget.Limits
	cache    *labelcache.Cache
	view     labelcache.View // of the last commit
	sets     *setTable
	snapshot *intent.Snapshot

	sources    map[objectKey]metav1.Object // policies and nodes
	namespaces map[string]*corev1.Namespace
	nodes      nodeTable
	pods       podTable
	services   *serviceTable
	translated map[objectKey]*translation
	dirty      map[objectKey]bool
	unsettled  map[objectKey]bool                  // translated since the last snapshot
	gated      map[intent.SetID]map[objectKey]bool // what is shown only while the set has a member
	watchers   map[intent.SetID]map[objectKey]bool // who splits rules by the numbers of a named-port set
	isolating  int                                 // translations that isolate ingress
	edges      edgeTable
	gateways   gatewayTable
	unknown    intent.Areas // that cannot be read
	problems   map[objectKey][]Problem
}

// objectKey names a source object within the translator's cluster.
type objectKey struct{ kind, namespace, name string }

// String spells k as kind/namespace/name.
func (k objectKey) String() string { return k.kind + "/" + k.namespace + "/" + k.name }

func (k objectKey) compare(o objectKey) int {
	if c := strings.Compare(k.kind, o.kind); c != 0 {
		return c
	}
	if c := strings.Compare(k.namespace, o.namespace); c != 0 {
		return c
	}
	return strings.Compare(k.name, o.name)
}

// translation is what one source object became.
type translation struct {
	policies []*intent.Policy
	holds    []intent.SetID
	watches  []intent.SetID // named-port sets, held too
	gate     intent.SetID   // the set that has to have a member for snapshots to show it; "" is shown always
	shown    bool           // in the last snapshot, policies and sets
	isolates []isolation
	node     *intent.Node // of a node

	edges  []*intent.EdgeIntent
	looks  []objectKey // what an edge depends on besides its own object
	claims []madeClaim
	offer  offer
}

// isolation is a term in one of the two sets of isolated endpoints.
type isolation struct {
	direction intent.Direction
	term      labelcache.Term
}

// New makes a translator that knows no object yet.
func New(opts Options) *Translator {
	var cacheOpts []labelcache.Option
	if opts.OnTag != nil {
		cacheOpts = append(cacheOpts, labelcache.OnTag(
			func(tag labelcache.Tag) { opts.OnTag(tag, true) },
			func(tag labelcache.Tag) { opts.OnTag(tag, false) },
		))
	}
	cache := labelcache.New(cacheOpts...)
	countLocal(cache, opts)
	return &Translator{
		cluster:    opts.Cluster,
		node:       opts.Node,
		options:    opts.Edges,
		families:   opts.Families,
		budget:     opts.Budget,
		cache:      cache,
		view:       cache.View(),
		sets:       newSetTable(cache, opts.Node),
		snapshot:   intent.NewSnapshot(),
		sources:    map[objectKey]metav1.Object{},
		namespaces: map[string]*corev1.Namespace{},
		nodes:      nodeTable{byName: map[string]*intent.Node{}},
		pods:       newPodTable(),
		services:   newServiceTable(),
		translated: map[objectKey]*translation{},
		dirty:      map[objectKey]bool{},
		unsettled:  map[objectKey]bool{},
		gated:      map[intent.SetID]map[objectKey]bool{},
		watchers:   map[intent.SetID]map[objectKey]bool{},
		edges:      newEdgeTable(),
		gateways:   newGatewayTable(),
		problems:   map[objectKey][]Problem{},
	}
}

// Put takes in an object as it is now. The object is kept and must not be changed afterwards. An object of a kind that
// is not translated is an error.
func (t *Translator) Put(object any) error {
	switch o := object.(type) {
	case *corev1.Pod:
		t.putPod(o)
	case *corev1.Namespace:
		t.putNamespace(o)
	case *corev1.Node:
		t.putNode(o)
	case *networkingv1.NetworkPolicy:
		t.putSource(objectKey{KindNetworkPolicy, o.Namespace, o.Name}, o)
	case *corev1.Service:
		t.putService(o)
	case *discoveryv1.EndpointSlice:
		t.putSlice(o)
	default:
		kind, resource, ok := edgeObject(object)
		if !ok {
			return fmt.Errorf("%T is not translated: expected a Pod, Namespace, Node, NetworkPolicy, Service, EndpointSlice "+
				"or a resource of %s", object, v1alpha1.GroupVersion)
		}
		t.putSource(objectKey{kind, resource.GetNamespace(), resource.GetName()}, resource)
	}
	return nil
}

// Remove forgets an object. An unknown one is no error.
func (t *Translator) Remove(kind, namespace, name string) {
	key := objectKey{kind, namespace, name}
	switch kind {
	case KindPod:
		t.putEndpoint(labelcache.Key{Cluster: t.cluster, Namespace: namespace, Name: name}, nil)
		t.setProblems(key, nil)
		t.removeGateway(objectKey{kindGateway, namespace, name})
	case KindNamespace:
		t.removeNamespace(name)
	case KindNode:
		t.removeNode(name)
	case KindService:
		t.removeService(key)
	case KindEndpointSlice:
		t.removeSlice(key)
	default:
		t.removeSource(key)
	}
}

func (t *Translator) putSource(key objectKey, object metav1.Object) {
	t.sources[key] = object
	t.dirty[key] = true
}

func (t *Translator) removeSource(key objectKey) {
	delete(t.sources, key)
	t.dirty[key] = true
}

func (t *Translator) putNamespace(ns *corev1.Namespace) {
	old := t.namespaces[ns.Name]
	t.namespaces[ns.Name] = ns
	t.cache.SetNamespace(t.cluster, ns.Name, ns.Labels)
	if old == nil || !sameLogging(old.Annotations, ns.Annotations) {
		t.relog(ns.Name)
	}
	faults := problems{of: t.origin(KindNamespace, ns)}
	loggingOf(ns.Annotations, &faults)
	t.setProblems(objectKey{KindNamespace, "", ns.Name}, faults.list)
}

func (t *Translator) removeNamespace(name string) {
	delete(t.namespaces, name)
	t.cache.DeleteNamespace(t.cluster, name)
	t.setProblems(objectKey{KindNamespace, "", name}, nil)
	t.relog(name)
}

// relog has the policies of a namespace translated anew, because what they log may have changed.
func (t *Translator) relog(namespace string) {
	for key := range t.sources {
		if key.kind == KindNetworkPolicy && key.namespace == namespace {
			t.dirty[key] = true
		}
	}
}

func (t *Translator) origin(kind string, o metav1.Object) intent.Origin {
	return intent.Origin{
		Cluster: t.cluster, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: string(o.GetUID()),
	}
}

func (t *Translator) setProblems(key objectKey, list []Problem) {
	if len(list) == 0 {
		delete(t.problems, key)
		return
	}
	t.problems[key] = list
}

// Problems lists what could not be translated, in order. It speaks of the objects as of the last Snapshot.
func (t *Translator) Problems() []Problem {
	var all []Problem
	for _, list := range t.problems {
		all = append(all, list...)
	}
	slices.SortFunc(all, Problem.compare)
	return all
}

// View is what the label cache said when the last snapshot was taken.
func (t *Translator) View() labelcache.View { return t.view }
