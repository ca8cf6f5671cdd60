package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// stagedShop has two pods without a policy in force: one that is staged, one that is to replace it, and one whose namespace is staged.
const stagedShop = `apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Namespace
metadata: {name: lab, annotations: {netloom.io/enforcement: staged}}
---
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: web, labels: {app: web}}
spec: {containers: [{name: c, image: i}]}
status: {podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}], phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: db, labels: {app: db}}
spec: {containers: [{name: c, image: i}]}
status: {podIP: 10.0.0.2, podIPs: [{ip: 10.0.0.2}], phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {namespace: lab, name: x, labels: {app: x}}
spec: {containers: [{name: c, image: i}]}
status: {podIP: 10.0.0.3, podIPs: [{ip: 10.0.0.3}], phase: Running}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: shop, name: db}
spec: {podSelector: {matchLabels: {app: db}}, ingress: [{from: [{podSelector: {matchLabels: {app: web}}}]}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: shop, name: db-staged, annotations: {netloom.io/enforcement: staged, netloom.io/stages: db}}
spec: {podSelector: {matchLabels: {app: db}}, ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: lab}}}]}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: lab, name: closed}
spec: {podSelector: {}}
`

func stagedDir(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "shop.yaml", text)
	return dir
}

// TestAnswersNameStagedPolicies: every command says which policies are staged, and what they would decide. What is in force, and exit codes,
// are as without them.
func TestAnswersNameStagedPolicies(t *testing.T) {
	dir := stagedDir(t, stagedShop)
	ask := func(code int, args ...string) string {
		t.Helper()
		got := netloom(t, args...)
		require.Equal(t, code, got.code, "%v", got)
		return got.out + got.errout
	}

	allowed := ask(0, "probe", "-f", dir, "shop/web->shop/db:tcp/80")
	require.Contains(t, allowed, "allow   shop/web -> shop/db tcp/80\n        would be denied by staged NetworkPolicy/shop/db-staged\n")
	require.Contains(t, allowed, "note: staged, so that they decide nothing: NetworkPolicy/lab/closed, NetworkPolicy/shop/db-staged\n")
	denied := ask(2, "probe", "-f", dir, "lab/x->shop/db:tcp/80")
	require.Contains(t, denied, "deny    lab/x -> shop/db tcp/80\n        would be allowed by staged NetworkPolicy/shop/db-staged\n")
	require.NotContains(t, ask(0, "probe", "-f", dir, "lab/x->shop/web:tcp/80"), "would be")
	require.Contains(t, ask(0, "probe", "-f", dir, "-o", "json", "shop/web->lab/x:tcp/80"),
		`"staged": {
        "verdict": "deny",
        "by": [
          "NetworkPolicy/lab/closed"
        ]
      }`)

	policy := ask(0, "explain", "-f", dir, "netpol/shop/db-staged")
	require.Contains(t, policy, "staged: it neither denies nor allows anything; if it were enforced in place of NetworkPolicy/shop/db:\n")
	require.Contains(t, policy, "ingress: isolates pods app=db in namespace shop: shop/db\n")
	pod := ask(0, "explain", "-f", dir, "pod/lab/x")
	require.Contains(t, pod, "staged     NetworkPolicy/lab/closed\n")
	require.Contains(t, pod, "ingress: no policy isolates it\n")

	impact := ask(2, "impact", "-f", dir, "--staged")
	require.Contains(t, impact, "- shop/web -> shop/db: everything\n")
	require.Contains(t, impact, "+ lab/x -> shop/db: everything\n")
	require.Contains(t, impact, "no longer staged: NetworkPolicy/lab/closed, NetworkPolicy/shop/db-staged\n")

	audit := ask(0, "audit", "-f", dir)
	require.Regexp(t, `(?m)^lab +1 +0 +0 +1 +1$`, audit)
	require.Regexp(t, `(?m)^NetworkPolicy/lab/closed +unknown +0 +0 +staged$`, audit)

	lint := ask(2, "lint", "-f", dir, "--fail-on", "info")
	require.Contains(t, lint, "is staged: it neither denies nor allows anything, and is to replace NetworkPolicy/shop/db")
	require.Contains(t, lint, "no policy isolates a pod of this namespace")
	require.NotContains(t, lint, "stages-nothing")
	require.Contains(t, ask(0, "connections", "-f", dir), "note: staged, so that they decide nothing: ")
}

// TestPullRequestPromotesAPolicy compares a directory in which a policy is staged with one in which it is enforced.
func TestPullRequestPromotesAPolicy(t *testing.T) {
	from, to := stagedDir(t, stagedShop), stagedDir(t, strings.Replace(stagedShop, ", annotations: {netloom.io/enforcement: staged}", "", 1))
	got := netloom(t, "impact", "--from", from, "--to", to, "-o", "markdown")
	require.Equal(t, 2, got.code)
	require.Contains(t, got.out, "#### Closed\n")
	require.NotContains(t, got.out, "#### Opened\n")
	require.Contains(t, got.out, "\nNo longer staged: NetworkPolicy/lab/closed\n")
	require.Contains(t, got.out, "\nStaged, so that they change nothing: NetworkPolicy/shop/db-staged\n")
	got = netloom(t, "impact", "--from", to, "--to", from)
	require.Equal(t, 2, got.code)
	require.Contains(t, got.out, "staged from now on: NetworkPolicy/lab/closed\n")
}

// TestUnknownEnforcementIsAnError: a value that is not understood enforces, and every answer is uncertain until it is corrected.
func TestUnknownEnforcementIsAnError(t *testing.T) {
	dir := stagedDir(t, strings.Replace(stagedShop, "netloom.io/enforcement: staged, netloom.io/stages: db", "netloom.io/enforcement: stagd", 1))
	got := netloom(t, "lint", "-f", dir)
	require.Equal(t, 3, got.code, got.out)
	require.Contains(t, got.out+got.errout, `metadata.annotations[netloom.io/enforcement]: "stagd": expected staged or enforced; the policy is enforced`)
	got = netloom(t, "probe", "-f", dir, "lab/x->shop/db:tcp/80")
	require.Equal(t, 3, got.code)
	require.Contains(t, got.out, "allow   lab/x -> shop/db tcp/80\n")

	dir = stagedDir(t, strings.Replace(stagedShop, "netloom.io/stages: db", "netloom.io/stages: bd", 1))
	got = netloom(t, "lint", "-f", dir, "--fail-on", "info")
	require.Equal(t, 2, got.code)
	require.Contains(t, got.out, "there is no policy bd of this kind that it can replace")
}

// TestStagePromoteDiscard stages edits of policies and promotes them: what comes back is what was edited.
func TestStagePromoteDiscard(t *testing.T) {
	const edit = `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  annotations:
    team: a
  name: db
  namespace: shop
spec:
  podSelector: {}
---
apiVersion: policy.networking.k8s.io/v1alpha1
kind: AdminNetworkPolicy
metadata:
  name: lockdown
spec:
  priority: 1
`
	dir := t.TempDir()
	path := func(name, text string) string {
		write(t, dir, name, text)
		return dir + "/" + name
	}
	edited := path("edit.yaml", strings.Replace(edit, "  namespace: shop\n",
		"  namespace: shop\n  uid: x\n  resourceVersion: \"7\"\n  generation: 2\n  creationTimestamp: 2026-01-01T00:00:00Z\n", 1)+"status: {}\n")
	staged := netloom(t, "stage", "-f", edited, "--suffix", "-new")
	require.Zero(t, staged.code, staged.errout)
	require.Contains(t, staged.out, "    netloom.io/enforcement: staged\n    netloom.io/stages: db\n    team: a\n  name: db-new\n  namespace: shop\n")
	copies := path("staged.yaml", staged.out)
	promoted := netloom(t, "promote", "-f", copies)
	require.Zero(t, promoted.code, promoted.errout)
	require.Equal(t, edit, promoted.out)
	discarded := netloom(t, "discard", "-f", copies)
	require.Equal(t, "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata:\n  name: db-new\n  namespace: shop\n---\n"+
		"apiVersion: policy.networking.k8s.io/v1alpha1\nkind: AdminNetworkPolicy\nmetadata:\n  name: lockdown-new\n", discarded.out)

	again := netloom(t, "promote", "-f", copies, "-f", path("other.yaml", strings.Replace(staged.out, "name: db-new", "name: db-other", 1)))
	require.Equal(t, 1, again.code)
	require.Contains(t, again.errout, "NetworkPolicy/shop/db-new: NetworkPolicy/shop/db-other stands for NetworkPolicy/shop/db, too")
	inPlace := path("in-place.yaml", "kind: NetworkPolicy\nmetadata: {name: db, namespace: shop, annotations: {netloom.io/enforcement: staged}}\n")
	require.Equal(t, "kind: NetworkPolicy\nmetadata:\n  name: db\n  namespace: shop\n", netloom(t, "promote", "-f", inPlace).out)
	require.Equal(t, 1, netloom(t, "discard", "-f", inPlace).code, "it would delete the policy itself")
	baseline := netloom(t, "stage", "-f", path("banp.yaml", "kind: BaselineAdminNetworkPolicy\nmetadata: {name: default}\n"))
	require.Equal(t, 1, baseline.code)
	require.Contains(t, baseline.errout, "there can be no second one")
}

// TestApplyTakesStagingForAnEdit moves policies from enforced to staged between two runs of apply: their rows go, and need no approval.
func TestApplyTakesStagingForAnEdit(t *testing.T) {
	server := database(t)
	const policies = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {namespace: shop, name: %s%s}
spec: {podSelector: {matchLabels: {app: none}}}
`
	dir := t.TempDir()
	put := func(annotation string) {
		for _, name := range []string{"a", "b", "c", "d"} {
			write(t, dir, name+".yaml", fmt.Sprintf(policies, name, annotation))
		}
	}
	put("")
	first := netloom(t, "apply", "-f", dir, "--ovn-nb", server.Addr())
	require.Zero(t, first.code, first.errout)
	put(", annotations: {netloom.io/enforcement: staged}")
	second := netloom(t, "apply", "-f", dir, "--ovn-nb", server.Addr())
	require.Zero(t, second.code, second.errout)
	require.NotContains(t, second.errout, "kept:")
	require.Zero(t, netloom(t, "plan", "-f", dir, "--ovn-nb", server.Addr()).code, "nothing is left to write")
}
