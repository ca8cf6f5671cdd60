package lint

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Cluster is the state of a cluster, or of a directory of manifests, at one moment. Its lists may be in any order.
type Cluster struct {
	Snapshot   *intent.Snapshot
	View       labelcache.View // the endpoints that the snapshot was made with
	Pods       []*corev1.Pod
	Namespaces []*corev1.Namespace
	Policies   []*networkingv1.NetworkPolicy
	Services   []*corev1.Service
	Problems   []object.Problem
	// MadeUp reports whether an address only stands for one that is not known; nil if all are real.
	MadeUp func(netip.Addr) bool
	// Makers are what may create further pods. nil means that all pods are known, as those of a cluster are: then a resolver that no pod is,
	// or a namespace without pods, does not exist.
	Makers *Makers
	// Staged are the policies that are staged, in any order. They are not in the snapshot.
	Staged []Staged
	// Passing are the pods that exist during tests only, so that nothing has to isolate them.
	Passing map[object.Key]bool
}

// Options configures Run.
type Options struct {
	Costs Costs
	Skip  []string // IDs of rules that are not looked for
	// Budget is how many comparisons are made to find redundant and unreachable rules; 0 is DefaultBudget.
	Budget int
}

// DefaultBudget is enough for some thousand policies.
const DefaultBudget = 20_000_000

// Report is what Run found.
type Report struct {
	Findings []Finding `json:"findings"` // in order
	// NotExamined lists what was not looked at because of limits, or because nothing is known about it: there may be more to find.
	NotExamined []string `json:"notExamined,omitempty"`
	Policies    int      `json:"policies"` // that were examined
	Pods        int      `json:"pods"`     // that they were examined with; the made-up pods of a workload count as one
	// StandIns means that there are such: what is counted are workloads.
	StandIns bool `json:"standIns,omitempty"`
}

// run is the state of Run.
type run struct {
	*Cluster
	opts    Options
	objects []*translation // of all policies, by reference
	out     Report

	checker         *Checker // of single policies
	resolverUnknown bool     // nothing is known that resolves names
}

// Run judges all policies of a cluster.
func Run(c *Cluster, opts Options) Report {
	if opts.Budget == 0 {
		opts.Budget = DefaultBudget
	}
	r := &run{Cluster: c, opts: opts}
	r.out.Pods, r.out.StandIns = c.View.Subjects()
	r.collect()
	for i := range c.Problems {
		r.out.Findings = append(r.out.Findings, problemFinding(&c.Problems[i]))
	}
	r.single()
	r.staged()
	r.serviceAddresses()
	r.servicePorts()
	r.world()
	r.names()
	r.isolation()
	r.order()
	r.redundancy()
	r.out.Findings = slices.DeleteFunc(r.out.Findings, func(f Finding) bool { return slices.Contains(opts.Skip, f.Rule) })
	sorted(r.out.Findings)
	r.out.Findings = slices.CompactFunc(r.out.Findings, func(a, b Finding) bool { return a.Compare(&b) == 0 })
	if r.out.Findings == nil {
		r.out.Findings = []Finding{}
	}
	return r.out
}

// collect groups the policies of the snapshot by their objects.
func (r *run) collect() {
	at := map[object.Ref]*translation{}
	for p := range r.Snapshot.Policies() {
		ref := p.Origin.Ref()
		if p.Tier == intent.TierSystem {
			continue
		}
		if at[ref] == nil {
			at[ref] = &translation{ref: ref, snapshot: r.Snapshot}
			r.objects = append(r.objects, at[ref])
		}
		at[ref].policies = append(at[ref].policies, p)
	}
	slices.SortFunc(r.objects, func(x, y *translation) int { return x.ref.Compare(y.ref) })
	for _, x := range r.objects {
		x.order()
	}
	r.out.Policies = len(r.objects)
}

// single judges every policy alone; order compares them.
func (r *run) single() {
	checker := newBriefChecker(r.opts.Costs)
	r.checker = checker
	checker.makers, checker.inhabited = r.Makers, map[string]bool{}
	for _, p := range r.Pods {
		checker.inhabited[p.Namespace] = true
	}
	for _, n := range r.Namespaces {
		r.put(checker, object.KindNamespace, n)
	}
	for _, p := range r.Pods {
		r.put(checker, object.KindPod, p)
	}
	for _, np := range r.Policies {
		for _, f := range checker.Policy(np).Findings {
			if f.Rule != NotUnderstood || checker.isStaged(np) { // it is among the problems, with its place
				r.add(f)
			}
		}
	}
	for _, x := range r.objects {
		if x.ref.Kind != object.KindNetworkPolicy {
			r.add(x.clusterWide(r.opts.Costs, r.Makers)...)
		}
	}
}

func (r *run) put(c *Checker, kind string, o metav1.Object) {
	if err := c.Put(kind, o); err != nil {
		r.skip("%s %s: %v", kind, strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/"), err)
	}
}

func (r *run) add(found ...Finding) { r.out.Findings = append(r.out.Findings, found...) }

func (r *run) skip(format string, args ...any) {
	r.out.NotExamined = append(r.out.NotExamined, fmt.Sprintf(format, args...))
}

// shown is how many names a message lists.
const shown = 5

// count is a number of pods or workloads with its noun.
func (r *Report) count(n int) string {
	return fmt.Sprintf("%d %s", n, object.SubjectNoun(n, r.StandIns))
}

// Judged is how many pods the policies were examined with, in words.
func (r *Report) Judged() string { return r.count(r.Pods) }
