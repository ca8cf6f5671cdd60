package bench

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb/inmem"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/translator"
)

var (
	formPods  = flag.Int("forms.pods", 200, "pods of the workload for which forms of rows are compared")
	formStorm = flag.Int("forms.storm", 400, "changes of the storm for which forms of rows are compared")
)

// rowForm is a way to write the rules of NetworkPolicies as rows. Netloom's own is the zero form: an ACL for each rule, whose peers are
// one set. See ADR 25.
type rowForm struct {
	name   string
	splits func(peer element, of *elements) bool // which elements of a list of peers get an ACL of their own; nil for none
	merges int                                   // rules that so many policies have in common become one ACL; zero for none
}

func rowForms() []rowForm {
	each := func(element, *elements) bool { return true }
	shared := func(m int) func(element, *elements) bool {
		return func(e element, of *elements) bool { return of.rules[e] >= m }
	}
	return []rowForm{
		{name: "set=rule"},
		{name: "set=peer", splits: each},
		{name: "set=rule,merged", merges: 2},
		{name: "set=peer,merged", splits: each, merges: 2},
		{name: "set=peer-of-2,merged", splits: shared(2), merges: 2},
		{name: "set=peer-of-4,merged", splits: shared(4), merges: 2},
	}
}

// element is one peer of a rule together with what else the rule says, so that it is the same in all rules that may share rows.
type element string

// elements counts the rules that have an element.
type elements struct{ rules map[element]int }

func elementOf(np *networkingv1.NetworkPolicy, d intent.Direction, peer networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort) element {
	scope := ""
	if peer.PodSelector != nil && peer.NamespaceSelector == nil {
		scope = np.Namespace
	}
	text, err := json.Marshal([]any{d, scope, peer, ports})
	if err != nil {
		panic(err) // such structs always encode
	}
	return element(text)
}

// split gives peers rules of their own.
func (f rowForm) split(c *oracle.Cluster) *oracle.Cluster {
	if f.splits == nil {
		return c
	}
	of := &elements{rules: map[element]int{}}
	for _, np := range c.Policies {
		for _, r := range np.Spec.Ingress {
			for _, peer := range r.From {
				of.rules[elementOf(np, intent.Ingress, peer, r.Ports)]++
			}
		}
	}
	out := *c
	out.Policies = nil
	for _, np := range c.Policies {
		np = np.DeepCopy()
		var rules []networkingv1.NetworkPolicyIngressRule
		for _, r := range np.Spec.Ingress {
			var rest []networkingv1.NetworkPolicyPeer
			for _, peer := range r.From {
				if f.splits(elementOf(np, intent.Ingress, peer, r.Ports), of) {
					rules = append(rules, networkingv1.NetworkPolicyIngressRule{From: []networkingv1.NetworkPolicyPeer{peer}, Ports: r.Ports})
				} else {
					rest = append(rest, peer)
				}
			}
			if len(rest) > 0 || len(r.From) == 0 {
				rules = append(rules, networkingv1.NetworkPolicyIngressRule{From: rest, Ports: r.Ports})
			}
		}
		np.Spec.Ingress = rules
		out.Policies = append(out.Policies, np)
	}
	return &out
}

// merge gives rules that policies have in common one subject: everything that any of the policies selects. As they allow the same to
// all of it, the policies allow what they did.
func (f rowForm) merge(s *intent.Snapshot) *intent.Snapshot {
	if f.merges == 0 {
		return s
	}
	type use struct {
		policy *intent.Policy
		rule   int
	}
	uses := map[string][]use{}
	for p := range s.Policies() {
		if p.Tier != intent.TierNetworkPolicy || p.Log != (intent.Logging{}) {
			continue
		}
		for i, r := range p.Rules {
			if r.Subject == "" {
				key := fmt.Sprint(p.Direction, r.Action, r.Peer, r.Ports)
				uses[key] = append(uses[key], use{p, i})
			}
		}
	}
	b := s.Variant()
	changed := map[intent.PolicyID]*intent.Policy{}
	for key, list := range uses {
		subjects := map[intent.SetID]bool{}
		for _, u := range list {
			subjects[u.policy.Subject] = true
		}
		if len(subjects) < f.merges {
			continue
		}
		var all []intent.Endpoint
		for id := range subjects {
			if set := s.Set(id); set.Members != nil {
				all = slices.AppendSeq(all, set.Members.All())
			}
		}
		id := intent.SetID("shared/" + key)
		b.CreateSet(&intent.Set{ID: id, Members: backendtest.NewMembers(all...)})
		for _, u := range list {
			p := changed[u.policy.ID]
			if p == nil {
				clone := *u.policy
				clone.Rules = slices.Clone(clone.Rules)
				p = &clone
				changed[p.ID] = p
			}
			p.Rules[u.rule].Subject = id
		}
	}
	for _, p := range changed {
		b.PutPolicy(p)
	}
	return b.Commit()
}

// formRig writes the rows of a form to a database of its own.
type formRig struct {
	*rig

	form rowForm
}

func newFormRig(t testing.TB, form rowForm, c *oracle.Cluster) *formRig {
	t.Helper()
	server, err := inmem.NewServer(schema.NB2303())
	require.NoError(t, err)
	require.NoError(t, server.Start("unix:"+t.TempDir()+"/nb.sock"))
	t.Cleanup(server.Close)
	r := &formRig{newRig(t, server.Addr()), form}
	makePorts(t, r.client, c)
	r.load(t, form.split(c))
	return r
}

func (r *formRig) snapshot() *intent.Snapshot { return r.form.merge(r.translator.Snapshot()) }

// write writes what differs.
func (r *formRig) write(t testing.TB) *backends.Plan {
	t.Helper()
	plan, err := r.backend.Plan(t.Context(), r.snapshot(), 0)
	require.NoError(t, err)
	if !plan.Empty() {
		require.NoError(t, r.backend.Apply(t.Context(), plan))
	}
	return plan
}

// written counts the rows of writes, and the bytes of their operations.
type written struct {
	flips int
	all   []int
	bytes int
}

func (w *written) add(t testing.TB, p *backends.Plan) {
	t.Helper()
	w.flips++
	w.all = append(w.all, len(p.Ops))
	w.bytes += size(t, p)
}

// report reports the rows of the median and the largest write, and the bytes of one.
func (w *written) report(b *testing.B, what string) {
	b.Helper()
	slices.Sort(w.all)
	b.ReportMetric(float64(w.all[len(w.all)/2]), what+"-rows/op")
	b.ReportMetric(float64(w.all[len(w.all)-1]), what+"-rows-most/op")
	b.ReportMetric(float64(w.bytes)/float64(w.flips), what+"-B/op")
}

// BenchmarkRowForms compares forms of rows: how many ACLs there are, how many rows a changed label and a storm of relabels write,
// and how many flows a chassis has. The figures of ADR 25 are for -forms.pods=1000 -forms.storm=4000.
func BenchmarkRowForms(b *testing.B) {
	const perNode = 20
	cluster := policygen.Workload(*formPods)
	for i, p := range cluster.Pods {
		p.Spec.NodeName = fmt.Sprintf("n%d", i%(len(cluster.Pods)/perNode))
	}
	for _, form := range rowForms() {
		b.Run(form.name, func(b *testing.B) {
			for range b.N {
				measureForm(b, form, cluster)
			}
		})
	}
}

func measureForm(b *testing.B, form rowForm, cluster *oracle.Cluster) {
	b.Helper()
	r := newFormRig(b, form, cluster)
	b.ReportMetric(float64(created(r.write(b))["ACL"]), "ACLs")
	estimate := ovn.NewExplainer(r.client.Schema(), ovn.Naming{Owner: "bench"}).Estimate(r.snapshot())
	flows := slices.Sorted(maps.Values(estimate.Flows))
	b.ReportMetric(float64(flows[len(flows)/2]), "flows/chassis")
	for _, key := range []string{"app", "tier"} {
		var w written
		for i := 3; i < len(cluster.Pods); i += len(cluster.Pods)/40 + 1 {
			pod := cluster.Pods[i]
			other := cluster.Pods[(i+7*policygen.WorkloadNamespaces)%len(cluster.Pods)]
			require.NoError(b, r.translator.Put(relabel(pod, key, other.Labels[key])))
			w.add(b, r.write(b))
			require.NoError(b, r.translator.Put(pod))
			r.write(b)
		}
		w.report(b, key)
	}
	const window = 100
	var w written
	for i := range *formStorm {
		storm(b, r.rig, cluster, i)
		if i%window == window-1 {
			w.add(b, r.write(b))
		}
	}
	total := 0
	for _, n := range w.all {
		total += n
	}
	b.ReportMetric(float64(total), "storm-rows")
	b.ReportMetric(float64(w.bytes), "storm-B")
}

// TestRowFormsAllowTheSame judges connections between all pods of random clusters in every form.
func TestRowFormsAllowTheSame(t *testing.T) {
	clusters := []*oracle.Cluster{policygen.Workload(60)}
	for seed := range uint64(12) {
		clusters = append(clusters, policygen.Generate(seed, policygen.Size{}))
	}
	for i, cluster := range clusters {
		flows := pairs(cluster)
		var want []bool
		for _, form := range rowForms() {
			r := &rig{translator: translator.New(translator.Options{})}
			r.load(t, form.split(cluster))
			snap := form.merge(r.translator.Snapshot())
			for k, f := range flows {
				allowed := snap.Evaluate(f).Allowed
				if len(want) < len(flows) {
					want = append(want, allowed)
				}
				require.Equal(t, want[k], allowed, "cluster %d, %s: %v", i, form.name, f)
			}
		}
	}
}

// pairs are connections between all pods with an address, by some ports.
func pairs(c *oracle.Cluster) []intent.Flow {
	var parties []intent.Party
	for _, p := range c.Pods {
		if a, err := netip.ParseAddr(p.Status.PodIP); err == nil && !p.Spec.HostNetwork {
			parties = append(parties, intent.Party{Key: object.Key{Namespace: p.Namespace, Name: p.Name}, Addr: a})
		}
	}
	var out []intent.Flow
	for _, from := range parties {
		for _, to := range parties {
			for _, port := range []uint16{53, 80, 8080} {
				out = append(out, intent.Flow{Src: from, Dst: to, Protocol: intent.TCP, Port: port})
			}
		}
	}
	return out
}
