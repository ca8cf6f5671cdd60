package translator_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/sdwan"
)

func loadCluster(b *testing.B, c *oracle.Cluster) *translator.Translator {
	b.Helper()
	tr := translator.New(translator.Options{})
	loadInto(b, tr, c)
	return tr
}

func loadInto(b *testing.B, tr *translator.Translator, c *oracle.Cluster) {
	b.Helper()
	for _, o := range c.Namespaces {
		put(b, tr, o)
	}
	for _, o := range c.Nodes {
		put(b, tr, o)
	}
	for _, o := range c.Policies {
		put(b, tr, o)
	}
	for _, o := range c.Pods {
		put(b, tr, o)
	}
	tr.Snapshot()
}

// BenchmarkTranslate takes 5000 pods and 1000 policies from nothing to the first snapshot.
func BenchmarkTranslate(b *testing.B) {
	c := policygen.Workload(5000)
	b.Run(fmt.Sprintf("policies=%d", len(c.Policies)), func(b *testing.B) {
		for b.Loop() {
			loadCluster(b, c)
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(c.Policies)), "µs/policy")
	})
}

// BenchmarkSnapshotAfterFlip changes the label of one pod and takes the snapshot, with 200 policies and ever more pods
// that they do not select: the cost should not depend on them.
func BenchmarkSnapshotAfterFlip(b *testing.B) {
	for _, pods := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			c := policygen.Workload(pods)
			c.Policies = policygen.Workload(1000).Policies
			tr := loadCluster(b, c)
			here, there := c.Pods[0], c.Pods[0].DeepCopy()
			there.Labels["app"] = "a1"
			n := 0
			for b.Loop() {
				if n++; n%2 == 0 {
					put(b, tr, here)
				} else {
					put(b, tr, there)
				}
				tr.Snapshot()
			}
		})
	}
}

// BenchmarkSnapshotOfOneNode is BenchmarkSnapshotAfterFlip for a translator of one node of a hundred, where the pod is there
// and where it is elsewhere.
func BenchmarkSnapshotOfOneNode(b *testing.B) {
	for _, where := range []string{"here", "elsewhere"} {
		b.Run(where, func(b *testing.B) {
			c := policygen.Workload(10_000)
			for i, p := range c.Pods {
				p.Spec.NodeName = fmt.Sprintf("node-%d", i%100)
			}
			tr := translator.New(translator.Options{Node: "node-0"})
			loadInto(b, tr, c)
			pod := c.Pods[map[string]int{"here": 0, "elsewhere": 1}[where]]
			there := pod.DeepCopy()
			there.Labels["app"] = "a1"
			n := 0
			for b.Loop() {
				if n++; n%2 == 0 {
					put(b, tr, pod)
				} else {
					put(b, tr, there)
				}
				tr.Snapshot()
			}
			b.ReportMetric(float64(tr.Snapshot().PolicyCount()), "policies")
		})
	}
}

// endpointChange is a translator of many Services and a change of one endpoint of one of them, there and back, with
// the snapshot.
func endpointChange(tb testing.TB, services int) func() {
	tb.Helper()
	c := policygen.Services(services)
	tr := translator.New(translator.Options{})
	for _, o := range c.Nodes {
		put(tb, tr, o)
	}
	for _, o := range c.Services {
		put(tb, tr, o)
	}
	for _, o := range c.Slices {
		put(tb, tr, o)
	}
	tr.Snapshot()
	here, there := c.Slices[services/2], c.Slices[services/2].DeepCopy()
	there.Endpoints = there.Endpoints[1:]
	n := 0
	return func() {
		if n++; n%2 == 0 {
			put(tb, tr, here)
		} else {
			put(tb, tr, there)
		}
		was := tr.Snapshot().Revision()
		if was != intent.Revision(n+1) {
			tb.Fatal("the change did not show")
		}
	}
}

// BenchmarkEndpointChange takes an endpoint out of a Service and puts it back, with ever more Services: the cost should
// not depend on them.
func BenchmarkEndpointChange(b *testing.B) {
	for _, services := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprintf("services=%d", services), func(b *testing.B) {
			change := endpointChange(b, services)
			b.ReportAllocs()
			for b.Loop() {
				change()
			}
		})
	}
}

// BenchmarkTranslateServices takes 10000 Services with 5 endpoints each from nothing to the first snapshot.
func BenchmarkTranslateServices(b *testing.B) {
	for b.Loop() {
		endpointChange(b, 10_000)
	}
}

// ruleEdit is a translator of many rules of one CNF's scope that follow ten policies, and an edit of one of them,
// there and back, with the snapshot.
func ruleEdit(tb testing.TB, rules int) func() {
	tb.Helper()
	tr := translator.New(translator.Options{})
	for i := range 10 {
		p := &v1alpha1.Mwan3Policy{ObjectMeta: purposed(fmt.Sprint("policy-", i))}
		p.Spec.Members = []v1alpha1.Mwan3Member{{Network: "net-a", Metric: 1, Weight: 1}}
		put(tb, tr, p)
	}
	rule := func(i int, port string) *v1alpha1.Mwan3Rule {
		r := &v1alpha1.Mwan3Rule{ObjectMeta: purposed(fmt.Sprint("rule-", i))}
		r.Spec.Policy, r.Spec.Proto, r.Spec.DestPort = v1alpha1.Reference(fmt.Sprint("policy-", i%10)), "tcp", v1alpha1.Port(port)
		return r
	}
	for i := range rules {
		put(tb, tr, rule(i, "80"))
	}
	tr.Snapshot()
	here, there := rule(rules/2, "80"), rule(rules/2, "81")
	n := 0
	return func() {
		if n++; n%2 == 0 {
			put(tb, tr, here)
		} else {
			put(tb, tr, there)
		}
		if was := tr.Snapshot().Revision(); was != intent.Revision(n+1) {
			tb.Fatal("the edit did not show")
		}
	}
}

// BenchmarkRuleEdit edits one Mwan3Rule of ever more: the cost should not depend on them.
func BenchmarkRuleEdit(b *testing.B) {
	for _, rules := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprintf("rules=%d", rules), func(b *testing.B) {
			edit := ruleEdit(b, rules)
			b.ReportAllocs()
			for b.Loop() {
				edit()
			}
		})
	}
}

// TestRuleEditCostsTheSame counts what an edit allocates among few rules and among many.
func TestRuleEditCostsTheSame(t *testing.T) {
	few, many := testing.AllocsPerRun(200, ruleEdit(t, 100)), testing.AllocsPerRun(200, ruleEdit(t, 10_000))
	require.Less(t, many, 2*few)
}

// BenchmarkTranslateRules takes 10000 Mwan3Rules from nothing to the first snapshot.
func BenchmarkTranslateRules(b *testing.B) {
	for b.Loop() {
		ruleEdit(b, 10_000)
	}
}

// BenchmarkServicesOfOnePort adds a Service to many that want the same port of the CNFs, and removes it.
func BenchmarkServicesOfOnePort(b *testing.B) {
	for _, services := range []int{100, 1000} {
		b.Run(fmt.Sprintf("services=%d", services), func(b *testing.B) {
			tr := translator.New(translator.Options{SDWAN: sdwan.Options{ServiceRules: sdwan.ServiceRulesLabelled}})
			for i := range services {
				put(b, tr, labelled(newClusterService(fmt.Sprint("s", i), fmt.Sprintf("10.96.%d.%d", i/250, i%250), 80), "cnf1"))
			}
			tr.Snapshot()
			for b.Loop() {
				put(b, tr, labelled(newClusterService("z", "10.97.0.1", 80), "cnf1"))
				tr.Snapshot()
				tr.Remove(object.KindService, "shop", "z")
				tr.Snapshot()
			}
		})
	}
}
