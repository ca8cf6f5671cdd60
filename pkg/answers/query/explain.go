package query

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Explanation is everything that is known about one object. One of the pointers is set.
type Explanation struct {
	Policy  *PolicyExplanation  `json:"networkPolicy,omitempty"`
	Cluster *PolicyExplanation  `json:"clusterPolicy,omitempty"` // of a cluster-wide policy
	Pod     *PodExplanation     `json:"pod,omitempty"`
	Service *ServiceExplanation `json:"service,omitempty"`
	SDWAN   *SDWANExplanation   `json:"sdwan,omitempty"` // of an SD-WAN object
	// ClusterName is the cluster of the object, if there are several.
	ClusterName string `json:"cluster,omitempty"`
	// Unknown lists what the answer lacks because it cannot be read; see the function of that name.
	Unknown []string `json:"unknown,omitempty"`
}

// Explain explains KIND/NAMESPACE/NAME: a policy, a pod, a service or an SD-WAN object; the namespace defaults to the
// given one, and may be left out if only one has the name. A Service may be named as in DNS. A cluster-wide policy is KIND/NAME. The name of a cluster may come first, as in b/pod/shop/db-0. It fails if there is no such object.
func (inv *Inventory) Explain(text, namespace string) (Explanation, error) {
	member, rest, err := inv.within(text)
	if err != nil {
		return Explanation{}, err
	}
	if member == nil {
		member, rest = inv, text
	}
	e, err := member.explain(rest, namespace)
	switch {
	case err != nil && member != inv:
		return Explanation{}, fmt.Errorf("in cluster %s: %w", member.state.Cluster, member.orUnread(err))
	case err != nil:
		return Explanation{}, err
	}
	if e.Unknown = member.Unknown(); inv.set.several() {
		e.ClusterName = member.state.Cluster
	}
	return e, nil
}

func (inv *Inventory) explain(text, namespace string) (Explanation, error) {
	if name, ns, ok := dnsName(text); ok {
		text = string(KindService) + "/" + ns + "/" + name
	}
	parts := strings.Split(text, "/")
	if namespace == AllNamespaces {
		namespace = ""
	}
	if kind, ok := kindOf(parts[0]); ok && len(parts) == 2 && namespace == "" && kind != KindNode && kind.objectKind() == "" {
		var err error
		if namespace, err = inv.onlyNamespace(kind, parts[1]); err != nil {
			return Explanation{}, err
		}
	}
	if kind, ok := kindOf(parts[0]); ok && kind.objectKind() != "" && len(parts) == 2 {
		if !inv.cluster[kind.objectKind()][parts[1]] {
			return Explanation{}, notFound(kind, parts[1], inv.Names(kind))
		}
		return Explanation{Cluster: inv.explainPolicy(object.Ref{Kind: kind.objectKind(), Name: parts[1]})}, nil
	}
	if found, ok, err := inv.workloadEnds(text, namespace); ok {
		if err != nil {
			return Explanation{}, err
		}
		return Explanation{Pod: inv.explainPod(strings.TrimPrefix(found[0].name, inv.prefix()))}, nil
	}
	if len(parts) == 4 && parts[0] == string(KindPod) { // a pod that stands for those of a workload
		parts = []string{parts[0], parts[1], parts[2] + "/" + parts[3]}
	}
	if len(parts) == 2 && namespace != "" {
		parts = []string{parts[0], namespace, parts[1]}
	}
	kind, ok := kindOf(parts[0])
	if sdwan := inv.sdwanKind(parts[0]); sdwan != "" && len(parts) == 3 {
		return inv.explainSDWAN(sdwan, parts[1]+"/"+parts[2])
	}
	if !ok || len(parts) != 3 || kind == KindNode || kind.objectKind() != "" {
		return Explanation{}, fmt.Errorf("%q: expected networkpolicy/NAMESPACE/NAME, pod/NAMESPACE/NAME, service/NAMESPACE/NAME,"+
			" clusternetworkpolicy/NAME or an existing SD-WAN object%s", text, nearOnly(text, inv.everyName()))
	}
	name := parts[1] + "/" + parts[2]
	if !slices.Contains(inv.Names(kind), name) {
		err := notFound(kind, name, inv.Names(kind))
		if kind == KindService {
			err = inv.orUnknown(err)
		}
		return Explanation{}, err
	}
	switch kind {
	case KindPolicy:
		return Explanation{Policy: inv.explainPolicy(object.Ref{Kind: object.KindNetworkPolicy, Namespace: parts[1], Name: parts[2]})}, nil
	case KindPod:
		return Explanation{Pod: inv.explainPod(name)}, nil
	case KindService:
		return Explanation{Service: inv.explainService(name)}, nil
	case KindNode, KindClusterPolicy, KindAdminPolicy, KindBaselinePolicy, kindAddress:
	}
	return Explanation{}, nil
}

// everyName lists all objects that can be explained.
func (inv *Inventory) everyName() []string {
	var all []string
	for _, k := range append(ClusterPolicyKinds(), KindPolicy, KindPod, KindService) {
		for _, n := range inv.Names(k) {
			all = append(all, string(k)+"/"+n)
		}
	}
	return append(all, inv.SDWANNames()...)
}

// problemsOf lists the problems of one object.
func (inv *Inventory) problemsOf(kind, name string) []object.Problem {
	var out []object.Problem
	for _, p := range inv.state.Problems {
		if (p.Cluster == "" || p.Cluster == inv.state.Cluster) && p.Ref.Kind == kind && p.Ref.NamespacedName() == name {
			out = append(out, p)
		}
	}
	return out
}

// maxMembers is how many members of a set are listed.
const maxMembers = 20

// Members lists what a policy's selectors and blocks select.
type Members struct {
	Title    string         `json:"title"`              // such as "pods app=web in namespace shop"
	Count    int            `json:"count"`              // of pods
	Pods     []string       `json:"pods,omitempty"`     // the first maxMembers of them, as [cluster/]namespace/name
	Prefixes []netip.Prefix `json:"prefixes,omitempty"` // addresses in addition
}

// membersOf lists what is in a set; nil is everything.
func membersOf(set *intent.Set, name func(object.Key) string) Members {
	m := Members{Title: titleOf(set)}
	if set == nil {
		return m
	}
	m.Prefixes = set.Prefixes
	if set.Members == nil {
		return m
	}
	for e := range set.Members.All() {
		m.Pods = append(m.Pods, name(e.Key))
	}
	slices.Sort(m.Pods)
	m.Pods = withoutTwins(m.Pods)
	m.Count = len(m.Pods)
	m.Pods = m.Pods[:min(len(m.Pods), maxMembers)]
	return m
}
