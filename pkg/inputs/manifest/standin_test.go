package manifest

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/object"
)

// policyInForce is the policy shop/web as d gives it.
func policyInForce(t *testing.T, d *Directory) *networkingv1.NetworkPolicy {
	t.Helper()
	o, ok := d.Get(object.Ref{Kind: object.KindNetworkPolicy, Namespace: "shop", Name: "web"})
	require.True(t, ok, "no policy is in force")
	return o.(*networkingv1.NetworkPolicy)
}

// isolation formats which pods a policy isolates, and in which directions.
func isolation(p *networkingv1.NetworkPolicy) string {
	var types []string
	for _, t := range p.Spec.PolicyTypes {
		types = append(types, string(t))
	}
	return metav1.FormatLabelSelector(&p.Spec.PodSelector) + " " + strings.Join(types, ",")
}

func TestStandIns(t *testing.T) {
	const web = "  podSelector: {matchLabels: {app: web}}\n"
	inJSON := func(spec string) string {
		return `{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"web","namespace":"shop"},` + spec + `}`
	}
	for _, tc := range []struct {
		name    string
		content string
		want    string
	}{
		{"a misspelt direction", policy("web", web+"  ingres: [{}]\n"), "app=web Ingress,Egress"},
		{"a misspelt direction and policy types", policy("web", web+"  policyTypes: [Egress]\n  egres: [{}]\n"), "app=web Egress"},
		{"a rule with an unknown field", policy("web", web+"  policyTypes: [Ingress]\n  ingress: [{form: []}]\n"), "app=web Ingress"},
		{"a direction too far to the right", policy("web", web+"  ingress: [{from: [], egress: [{}]}]\n"), "app=web Ingress,Egress"},
		{"a port out of range", policy("web", web+"  ingress: [{ports: [{port: 70000}]}]\n"), "app=web Ingress"},
		{"a port out of range and no egress rule", policy("web", web+"  ingress: [{ports: [{port: 70000}]}]\n  egress: []\n"), "app=web Ingress"},
		{"a port of the wrong type", policy("web", web+"  ingress: [{ports: [{port: []}]}]\n"), "app=web Ingress"},
		{"a port of the wrong type and a misspelt direction", policy("web", web+"  ingress: [{ports: [{port: []}]}]\n  egres: []\n"), "app=web Ingress,Egress"},
		{"rules for egress", policy("web", web+"  egress: [{ports: [{port: 70000}]}]\n"), "app=web Ingress,Egress"},
		{"rules for egress that are not a list", policy("web", web+"  egress: {}\n"), "app=web Ingress,Egress"},
		{"a policy type that does not exist", policy("web", web+"  policyTypes: [ingress]\n"), "app=web Ingress,Egress"},
		{"policy types that are not a list", policy("web", web+"  policyTypes: Ingress\n"), "app=web Ingress,Egress"},
		{"misspelt policy types", policy("web", web+"  policytypes: [Egress]\n"), "app=web Ingress,Egress"},
		{"a fault in the metadata", strings.Replace(policy("web", web), "namespace: shop", "namespace: shop, lables: {}", 1), "app=web Ingress"},
		{"a selector in the wrong case", policy("web", "  podselector: {matchLabels: {app: web}}\n  policyTypes: [Ingress]\n"), "<none> Ingress"},
		{"a selector with a field too many", policy("web", "  podSelector: {matchLabels: {app: web}, matchExpression: []}\n  policyTypes: [Ingress]\n"), "app=web Ingress"},
		{"a selector with a value of the wrong type", policy("web", "  podSelector: {matchLabels: {app: yes}}\n  policyTypes: [Ingress]\n"), "<none> Ingress"},
		{"a selector that is not a mapping", policy("web", "  podSelector: web\n  policyTypes: [Ingress]\n"), "<none> Ingress"},
		{"a selector without values", policy("web", "  podSelector: {matchExpressions: [{key: app, operator: In}]}\n  policyTypes: [Ingress]\n"), "<none> Ingress"},
		{"a specification that is not a mapping", policy("web", "  - ingress\n"), "<none> Ingress,Egress"},
		{"a misspelt specification", strings.Replace(policy("web", web), "spec:", "sepc:", 1), "<none> Ingress,Egress"},
		{"rules given twice", policy("web", web+"  ingress: []\n  ingress: [{}]\n"), "app=web Ingress"},
		{"a selector given twice", policy("web", web+web+"  policyTypes: [Ingress]\n"), "<none> Ingress,Egress"},
		{"a label given twice", policy("web", "  podSelector: {matchLabels: {app: a, app: b}}\n  ingress: []\n  ingress: []\n"), "<none> Ingress,Egress"},
		{"rules given twice in JSON", inJSON(`"spec":{"podSelector":{"matchLabels":{"app":"web"}},"egress":[],"egress":[{}]}`), "app=web Ingress,Egress"},
		{"a selector given twice in JSON", inJSON(`"spec":{"podSelector":{"matchLabels":{"app":"web"}},"podSelector":{"matchLabels":{"app":"b"}}}`), "<none> Ingress,Egress"},
		{"a label given twice in JSON", inJSON(`"spec":{"podSelector":{"matchLabels":{"app":"a","app":"b"}},"policyTypes":["Ingress"]}`), "<none> Ingress"},
		{"a specification given twice in JSON", inJSON(`"spec":{"podSelector":{"matchLabels":{"app":"a"}}},"spec":{}`), "<none> Ingress,Egress"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "a.yaml", tc.content)
			d, err := LoadDirectory(dir, Options{}, quiet())
			require.NoError(t, err)
			p := policyInForce(t, d)
			require.Equal(t, tc.want, isolation(p))
			require.Empty(t, p.Spec.Ingress)
			require.Empty(t, p.Spec.Egress)
			require.Empty(t, validatePolicy(p))
			require.NotEmpty(t, d.Problems())
			for _, problem := range d.Problems() {
				require.Contains(t, problem.Message, "; until it is fixed ")
			}
		})
	}
}

// TestStandInsAreStagedIfThatIsClear: a stand-in is staged or enforced as its document has it. If that may be misspelt, it is enforced, even in
// a namespace whose policies are staged.
func TestStandInsAreStagedIfThatIsClear(t *testing.T) {
	const (
		namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, annotations: {netloom.io/enforcement: staged}}\n---\n"
		head      = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {namespace: shop, name: web"
		spec      = "}\nspec: {podSelector: {}, ingres: []}\n"
		staged    = "; it is staged, so that nothing is isolated or denied"
		closed    = "; until it is fixed all pods of its namespace are isolated in ingress and egress and nothing is allowed"
	)
	for _, tc := range []struct{ name, content, want string }{
		{"without an annotation", head + spec, closed},
		{"staged", head + ", annotations: {netloom.io/enforcement: staged}" + spec, staged},
		{"staged with its namespace", namespace + head + spec, staged},
		{"enforced, other than its namespace", namespace + head + ", annotations: {netloom.io/enforcement: enforced}" + spec, closed},
		{"unknown, other than its namespace", namespace + head + ", annotations: {netloom.io/enforcement: enfroced}" + spec, closed},
		{"annotations misspelt", namespace + head + ", annotation: {netloom.io/enforcement: enforced}" + spec, closed},
		{"both values", namespace + head + ", annotations: {netloom.io/enforcement: enforced, netloom.io/enforcement: staged}" + spec, closed},
		{"annotations twice", head + ", annotations: {}, annotations: {netloom.io/enforcement: staged}" + spec, closed},
		{"no text", namespace + head + ", annotations: {netloom.io/enforcement: [staged]}" + spec, closed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "a.yaml", tc.content)
			d, err := LoadDirectory(dir, Options{}, quiet())
			require.NoError(t, err)
			require.Equal(t, tc.want == staged, isStaged(policyInForce(t, d), d.force))
			require.NotEmpty(t, d.Problems())
			for _, problem := range d.Problems() {
				require.Contains(t, problem.Message, tc.want)
			}
		})
	}
}

func TestStandInsOverTime(t *testing.T) {
	const (
		at     = "a.yaml: document 1: NetworkPolicy/shop/web: "
		unread = at + "spec.ingres: unknown field"
		closed = "; until it is fixed its pods are isolated in ingress and egress and nothing is allowed"
		closes = "; until it is fixed all pods of its namespace are isolated in ingress and nothing is allowed"
	)
	spec := "  podSelector: {matchLabels: {app: web}}\n"
	bad, good := policy("web", spec+"  ingres: [{}]\n"), policy("web", spec+"  ingress: [{}]\n")
	dir := t.TempDir()
	d := NewDirectory(dir, Options{}, quiet())
	step := func(path, content, want string, rules int, problems ...string) {
		t.Helper()
		write(t, dir, path, content)
		require.NoError(t, d.ReadOnce())
		require.Equal(t, want, isolation(policyInForce(t, d)))
		require.Len(t, policyInForce(t, d).Spec.Ingress, rules)
		require.Equal(t, problems, faults(d, dir))
	}
	step("a.yaml", bad, "app=web Ingress,Egress", 0, unread+closed)
	require.Contains(t, d.Drain(), object.Ref{Kind: object.KindNetworkPolicy, Namespace: "shop", Name: "web"})
	step("a.yaml", bad+"# a comment\n", "app=web Ingress,Egress", 0, unread+closed)
	require.Empty(t, d.Drain(), "the stand-in is the same")
	step("a.yaml", policy("web", "  podselector: {}\n  policyTypes: [Ingress]\n"), "<none> Ingress", 0,
		at+"spec.podselector: unknown field"+closes)
	step("a.yaml", good, "app=web Ingress", 1)
	step("a.yaml", bad, "app=web Ingress", 1, unread)
	require.NotEmpty(t, d.Drain())
	remove(t, dir, "a.yaml")
	require.NoError(t, d.ReadOnce())
	require.Empty(t, d.Refs(), "removed for good")

	step("a.yaml", bad, "app=web Ingress,Egress", 0, unread+closed)
	step("a.yaml", "[", "app=web Ingress,Egress", 0, "a.yaml: document 1: line 1: did not find expected node content")
	step("a.yaml", bad, "app=web Ingress,Egress", 0, unread+closed)
	step("b.yaml", good, "app=web Ingress", 1,
		at+"also declared in b.yaml: document 1, which is in force", unread)
}

func TestOfTwoFaultyDocumentsOneStandsIn(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", policy("web", "  podSelector: {matchLabels: {v: a}}\n  policyTypes: [Ingress]\n  ingres: []\n"))
	write(t, dir, "b.yaml", policy("web", "  podSelector: {matchLabels: {v: b}}\n  policyTypes: [Ingress]\n  ingres: []\n"))
	d, err := LoadDirectory(dir, Options{}, quiet())
	require.NoError(t, err)
	require.Equal(t, "v=a Ingress", isolation(policyInForce(t, d)))
	require.Equal(t, []string{
		"a.yaml: document 1: NetworkPolicy/shop/web: spec.ingres: unknown field; " +
			"until it is fixed its pods are isolated in ingress and nothing is allowed",
		"b.yaml: document 1: NetworkPolicy/shop/web: also declared in a.yaml: document 1",
		"b.yaml: document 1: NetworkPolicy/shop/web: spec.ingres: unknown field",
	}, faults(d, dir))
	require.NoError(t, os.Remove(d.dir+"/a.yaml"))
	require.NoError(t, d.ReadOnce())
	require.Equal(t, "v=b Ingress", isolation(policyInForce(t, d)))
}
