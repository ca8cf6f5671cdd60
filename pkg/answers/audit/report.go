package audit

import (
	"slices"

	"github.com/netloom/netloom/pkg/object"
)

// Report is the isolation of one state. All lists are sorted.
type Report struct {
	Summary    Summary     `json:"summary"`
	Namespaces []Namespace `json:"namespaces"` // those with pods
	Pods       []Pod       `json:"pods"`
	Matrix     []Cell      `json:"matrix"` // between namespaces: those with any connection
	Policies   []Policy    `json:"policies"`
	// NotExamined lists what is missing because of limits.
	NotExamined []string `json:"notExamined,omitempty"`
}

// StandsIn reports whether workloads are counted instead of pods: the made-up pods of each count once, any other pod as itself.
func (r *Report) StandsIn() bool {
	return slices.ContainsFunc(r.Pods, func(p Pod) bool { return object.Key{Name: p.Name}.StandsIn() })
}

// Noun is the word for n of what is counted: pods or workloads.
func (r *Report) Noun(n int) string { return object.SubjectNoun(n, r.StandsIn()) }

// Counts are numbers of pods. The made-up pods of a workload count as one.
type Counts struct {
	Pods            int `json:"pods"`
	IsolatedIngress int `json:"isolatedIngress"` // a policy protects them for ingress: see lint.Guarded
	IsolatedEgress  int `json:"isolatedEgress"`
	FromWorld       int `json:"fromWorld"` // most addresses outside can reach them
	ToWorld         int `json:"toWorld"`   // they can reach most addresses outside
}

// Summary is the counts of a state.
type Summary struct {
	Counts

	Namespaces int `json:"namespaces"`
	Policies   int `json:"policies"` // in force
	Staged     int `json:"staged,omitempty"`
}

// Namespace is the counts of a namespace.
type Namespace struct {
	Name string `json:"name"`
	Counts
}

// Pod is the isolation of a pod, or of all pods that stand for those of a workload.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Ingress   bool   `json:"ingress"` // whether it is isolated
	Egress    bool   `json:"egress"`
	FromWorld Access `json:"fromWorld"`
	ToWorld   Access `json:"toWorld"`
}

// Access is what passes between a pod and addresses outside the cluster, other than those of nodes, which always reach their own pods.
type Access struct {
	Scope   Scope  `json:"scope"`
	Traffic string `json:"traffic,omitempty"` // protocols and ports; "" if Scope is None
}

// Scope is how much of the outside can be reached, or can reach.
type Scope string

// The scopes: no address, some networks, most addresses of a family.
const (
	None     Scope = "none"
	Networks Scope = "networks"
	World    Scope = "world"
)

// Cell is the connections from the pods of one namespace to those of another, or of the same.
type Cell struct {
	From    string   `json:"from"`
	To      string   `json:"to"`
	Allowed int      `json:"allowed"` // pairs of addresses between which anything passes; equal pods of a workload have one
	Pairs   int      `json:"pairs"`   // all pairs of different addresses of one family
	Traffic []string `json:"traffic"` // what passes, the first maxTraffic
	More    bool     `json:"more,omitempty"`
}

// Policy is a policy of any kind, and its effect. The oldest come first, those of unknown age last.
type Policy struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Created   string `json:"created,omitempty"` // in the format of RFC 3339; "" if unknown, as in most manifests
	Ingress   bool   `json:"ingress"`           // whether it applies to the direction
	Egress    bool   `json:"egress"`
	Pods      int    `json:"pods"` // that it selects, as in Counts
	Rules     int    `json:"rules"`
	// Sole counts the pods that only this NetworkPolicy isolates in some direction.
	Sole int `json:"sole"`
	// Staged means that the policy neither denies nor allows anything: it applies to no direction and selects nothing.
	Staged bool `json:"staged,omitempty"`
	// Digest identifies what the policy means: it changes with the policy, and with the numbers of its named ports.
	Digest string `json:"digest"`
}

// name is the policy's identity.
func (p *Policy) name() string {
	if p.Namespace == "" {
		return p.Kind + "/" + p.Name
	}
	return p.Kind + "/" + p.Namespace + "/" + p.Name
}
