package impact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/answerstest"
	"github.com/netloom/netloom/pkg/answers/impact"
	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/answers/world"
)

// pod is a manifest of a pod of the shop.
func pod(name, address, labels string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: shop, labels: {%s}}\nstatus: {podIP: %s}\n", name, labels, address)
}

// ingress is a manifest of a policy of the shop that allows ingress as its rules say.
func ingress(name, selector, rules string) string {
	return fmt.Sprintf("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: %s, namespace: shop}\n"+
		"spec:\n  podSelector: {matchLabels: {%s}}\n  policyTypes: [Ingress]\n  ingress: [%s]\n", name, selector, rules)
}

const fromAPI = "{from: [{podSelector: {matchLabels: {app: api}}}]}"

// lines are the effects of a report in short.
func lines(effects []impact.Effect) []string {
	end := func(g *reach.Group) string {
		if g.Selected != "" {
			return g.SelectedText()
		}
		parts := g.Pods
		for _, p := range g.Outside {
			parts = append(parts, p.String())
		}
		return strings.Join(parts, " ")
	}
	out := []string{}
	for i := range effects {
		e := &effects[i]
		if e.Opened != "" {
			out = append(out, "+ "+end(&e.From)+" -> "+end(&e.To)+": "+e.Opened)
		}
		if e.Closed != "" {
			out = append(out, "- "+end(&e.From)+" -> "+end(&e.To)+": "+e.Closed)
		}
	}
	return out
}

func TestPodsOfOneState(t *testing.T) {
	state := func(manifests ...string) world.State {
		return answerstest.StateOf(t, answerstest.ObjectsOf(t, strings.Join(manifests, "---\n")))
	}
	api, db := pod("api-0", "10.0.0.1", "app: api"), pod("db-0", "10.0.0.2", "app: db")
	guard := ingress("db", "app: db", fromAPI)
	for _, tc := range []struct {
		name                  string
		before, after         world.State
		changes, apart        []string
		appeared, counterpart string
	}{
		{
			name:   "a database under another name, which no policy selects",
			before: state(api, db, guard), after: state(api, pod("postgres-0", "10.0.0.3", "app: postgres"), guard),
			appeared: "shop/postgres-0",
			apart: []string{
				"+ shop/api-0 0.0.0.0/0 -> shop/postgres-0: everything",
				"+ shop/postgres-0 -> shop/api-0 0.0.0.0/0: everything",
			},
		},
		{
			name:   "a newcomer that a policy admits",
			before: state(db, guard, ingress("api", "app: api", "")), after: state(db, guard, ingress("api", "app: api", ""), api),
			appeared: "shop/api-0",
			apart:    []string{"+ shop/api-0 -> shop/db-0 0.0.0.0/0: everything"},
		},
		{
			name:     "another revision of a Deployment",
			before:   state(api, pod("db-5c6f-x2k4p", "10.0.0.2", "app: db, pod-template-hash: 5c6f"), guard),
			after:    state(api, pod("db-7d9b-q8zzl", "10.0.0.9", "app: db, pod-template-hash: 7d9b"), guard),
			appeared: "shop/db-7d9b-q8zzl", counterpart: "shop/db-5c6f-x2k4p",
		},
		{
			name:     "another revision, and another policy",
			before:   state(api, pod("db-5c6f-x2k4p", "10.0.0.2", "app: db, pod-template-hash: 5c6f"), guard),
			after:    state(api, pod("db-7d9b-q8zzl", "10.0.0.9", "app: db, pod-template-hash: 7d9b"), ingress("db", "app: db", fromAPI+", {from: [{ipBlock: {cidr: 192.0.2.0/24}}]}")),
			appeared: "shop/db-7d9b-q8zzl", counterpart: "shop/db-5c6f-x2k4p",
			apart: []string{"+ 192.0.2.0/24 -> shop/db-7d9b-q8zzl: everything"},
		},
		{
			name:     "a replica more, and fewer rules",
			before:   state(api, db, guard),
			after:    state(api, db, pod("db-1", "10.0.0.3", "app: db"), ingress("db", "app: db", "")),
			appeared: "shop/db-1", counterpart: "shop/db-0",
			changes: []string{"- shop/api-0 -> shop/db-0: everything"},
			apart:   []string{"- shop/api-0 -> shop/db-1: everything"},
		},
		{
			name:   "a pod with another address",
			before: state(api, db, guard), after: state(api, pod("db-0", "10.0.0.77", "app: db"), guard),
		},
		{
			name:   "a pod with another address and other labels",
			before: state(api, db, guard), after: state(api, pod("db-0", "10.0.0.77", "app: dbs"), guard),
			changes: []string{"+ 0.0.0.0/0 -> shop/db-0: everything"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := impact.Of(tc.before, tc.after)
			require.ElementsMatch(t, tc.changes, lines(got.Changes))
			require.ElementsMatch(t, tc.apart, lines(got.Apart))
			require.Equal(t, tc.appeared, strings.Join(got.Appeared, " "))
			require.Equal(t, tc.counterpart, got.Counterparts[tc.appeared])
			require.Empty(t, got.Unselected)
		})
	}
}

// TestCounterpartsOfAWorkload pairs pods whose labels differ, but not their workload.
func TestCounterpartsOfAWorkload(t *testing.T) {
	guard := ingress("db", "app: db", fromAPI)
	state := func(pod, manifest string) world.State {
		s := answerstest.StateOf(t, answerstest.ObjectsOf(t, manifest+"---\n"+guard))
		s.Workloads = []world.Workload{{Kind: "sts", Namespace: "shop", Name: "db", Pods: []string{pod}}}
		return s
	}
	got := impact.Of(state("db-0", pod("db-0", "10.0.0.2", "app: db")), state("db-1", pod("db-1", "10.0.0.3", "app: db, tier: back")))
	require.Equal(t, map[string]string{"shop/db-1": "shop/db-0"}, got.Counterparts)
	require.Empty(t, got.Apart)
}

// asEgress is a policy for the other direction.
func asEgress(policy string) string {
	return strings.NewReplacer("ingress", "egress", "Ingress", "Egress").Replace(policy)
}

func TestPoliciesThatSelectNoPod(t *testing.T) {
	console := pod("console", "10.0.0.1", "app: api")
	engine := func(rules string) string { return "---\n" + ingress("engine", "component: engine", rules) }
	for _, tc := range []struct {
		name, before, after string
		want                []string
	}{
		{"the same policy", engine(fromAPI), engine(fromAPI), []string{}},
		{"a wider policy", engine(fromAPI), engine("{}"), []string{"+ 0.0.0.0/0 ::/0 -> pods that NetworkPolicy/shop/engine selects: everything"}},
		{"a new policy", "", engine(fromAPI), []string{"- 0.0.0.0/0 ::/0 -> pods that NetworkPolicy/shop/engine selects: everything"}},
		{"a policy less", engine("{ports: [{port: 80}]}"), "", []string{
			"+ shop/console 0.0.0.0/0 ::/0 -> pods that NetworkPolicy/shop/engine selects: everything except tcp/80",
		}},
		{"another selector", engine(fromAPI), strings.ReplaceAll(engine(fromAPI), "component: engine", "component: other"), []string{
			"+ 0.0.0.0/0 ::/0 -> pods that NetworkPolicy/shop/engine selected: everything",
			"- 0.0.0.0/0 ::/0 -> pods that NetworkPolicy/shop/engine selects: everything",
		}},
		{"a policy that selects a pod now", engine(fromAPI), strings.ReplaceAll(engine(fromAPI), "component: engine", "app: api"), []string{}},
		{"the rules for egress", asEgress(engine("{to: [{podSelector: {matchLabels: {app: api}}}]}")), asEgress(engine("")), []string{
			"- pods that NetworkPolicy/shop/engine selects -> shop/console: everything",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := impact.Of(answerstest.StateOf(t, answerstest.ObjectsOf(t, console+tc.before)), answerstest.StateOf(t, answerstest.ObjectsOf(t, console+tc.after)))
			require.Equal(t, tc.want, lines(got.Unselected))
			require.Empty(t, got.Apart)
		})
	}
}
