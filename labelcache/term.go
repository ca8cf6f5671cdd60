package labelcache

import "k8s.io/apimachinery/pkg/labels"

// AnyCluster as the cluster of a Selection leaves it open. It is not the name of a cluster.
const AnyCluster = "*"

// Selection selects endpoints. All parts have to match. The zero value selects every endpoint of the unnamed cluster.
type Selection struct {
	Cluster   string // or AnyCluster
	Namespace string // "" leaves it open
	// Namespaces selects namespaces by their labels: labels.Everything() selects every namespace that is known, and
	// labels.Nothing() none. If nil, the namespace need not even be known.
	Namespaces labels.Selector
	Pods       labels.Selector // nil leaves it open
	Node       string          // "" leaves it open
	Port       PortMatch
	Opaque     bool // selects the endpoints that are Opaque, and no others
}

// Term is a Selection in canonical form. It is immutable. The zero value selects nothing.
type Term struct{ spec *spec }

// spec is the content of a term. It is shared by all copies of the term.
type spec struct {
	id         string
	cluster    string
	namespace  string
	anyLabels  bool // there was no namespace selector
	namespaces []clause
	pods       []clause
	node       string
	port       PortMatch
	opaque     bool
}

// NewTerm brings a selection into canonical form. A selection that contradicts itself selects nothing.
func NewTerm(s Selection) Term {
	ns, ok := clausesOf(s.Namespaces)
	if !ok {
		return Term{}
	}
	pods, ok := clausesOf(s.Pods)
	if !ok {
		return Term{}
	}
	p := &spec{
		cluster: s.Cluster, namespace: s.Namespace, node: s.Node, port: s.Port.canonical(), opaque: s.Opaque,
		anyLabels: s.Namespaces == nil, namespaces: ns, pods: pods,
	}
	p.id = p.text()
	return Term{spec: p}
}

// ID returns the canonical text of t: equal selections have equal texts, whatever the order of their requirements and
// values and whichever operators they were written with, and different texts never mean the same just because of
// spelling.
func (t Term) ID() string {
	if t.spec == nil {
		return noMatch
	}
	return t.spec.id
}

// On narrows t to the endpoints on a node. A term that names another node then selects nothing.
func (t Term) On(node string) Term {
	if t.spec == nil || t.spec.node == node {
		return t
	}
	if t.spec.node != "" {
		return Term{}
	}
	p := *t.spec
	p.node = node
	p.id = p.text()
	return Term{spec: &p}
}

// String describes in words what t selects. It is not parsed anywhere.
func (t Term) String() string {
	if t.spec == nil {
		return "no pods"
	}
	return t.spec.words()
}

// Matches reports whether t selects an endpoint whose namespace carries the labels. Known is false for a namespace that
// is not known, or not yet. This defines what a term means; the cache gives the same answer for all terms at once.
func (t Term) Matches(e *Endpoint, known bool, namespaceLabels map[string]string) bool {
	return t.spec != nil && t.spec.matchesPlace(e.Key.Cluster, e.Key.Namespace, known, namespaceLabels) &&
		t.spec.matchesPod(e)
}

// matchesPlace reports whether endpoints of the namespace can match.
func (s *spec) matchesPlace(cluster, namespace string, known bool, set map[string]string) bool {
	if s.cluster != AnyCluster && s.cluster != cluster || s.namespace != "" && s.namespace != namespace {
		return false
	}
	return s.anyLabels || known && allMatch(s.namespaces, set)
}

// matchesPod reports whether e matches, apart from its namespace.
func (s *spec) matchesPod(e *Endpoint) bool {
	return s.opaque == e.Opaque && (s.node == "" || s.node == e.Node) && allMatch(s.pods, e.Labels) && s.port.matches(e)
}
