//go:build e2e

package e2ekube_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// tied are SD-WAN objects of which one half needs the other.
const tied = `
{kind: Mwan3Policy, metadata: {name: used}, spec: {members: [{network: net0, metric: 1, weight: 1}]}}
---
{kind: Mwan3Rule, metadata: {name: user}, spec: {policy: used, src_ip: "", src_port: "", dest_ip: "", dest_port: "", proto: "", family: "", sticky: "", timeout: ""}}
---
{kind: FirewallZone, metadata: {name: used}, spec: {network: [net0]}}
---
{kind: FirewallForwarding, metadata: {name: user}, spec: {src: used, dest: used}}
---
{kind: IpsecProposal, metadata: {name: used}, spec: {encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072}}
---
{kind: IpsecSite, metadata: {name: user}, spec: {remote: 203.0.113.50, authentication_method: psk, pre_shared_key_secret: {name: x},
  crypto_proposal: [used], connections: [{name: office, conn_type: tunnel, mode: start, local_subnet: 172.16.0.0/24, remote_subnet: 192.168.0.0/16, crypto_proposal: [used]}]}}
`

// tiedObjects are those of tied, by kind.
func tiedObjects(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	all := map[string]*unstructured.Unstructured{}
	for _, o := range kubelab.Parse(t, tied) {
		o.SetAPIVersion("batch.sdewan.akraino.org/v1alpha1")
		o.SetNamespace("default")
		o.SetLabels(map[string]string{"sdewanPurpose": "cnf1"})
		all[o.GetKind()] = o
	}
	return all
}

// said is the refusal of a write, or its warnings.
func (a *admission) said(err error) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := strings.Join(a.warnings, "\n")
	a.warnings = nil
	if err != nil {
		return "refused: " + err.Error()
	}
	return text
}

// needs checks deletions of what is in use, and references to nothing. They are refused or warned of, as configured.
func (a *admission) needs(client dynamic.Interface, refused bool) {
	t := a.t
	t.Helper()
	for kind, user := range map[string]string{"Mwan3Policy": "Mwan3Rule", "FirewallZone": "FirewallForwarding", "IpsecProposal": "IpsecSite"} {
		want := fmt.Sprintf("%s default/used is still used by %s default/user", kind, user)
		await.True(t, func() bool {
			used := a.resourceOf(client, tiedObjects(t)[kind])
			text := a.said(used.Delete(t.Context(), "used", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}))
			return strings.Contains(text, want) && strings.HasPrefix(text, "refused: ") == refused
		}, "%s", want)
	}
	for kind, tc := range map[string]struct {
		path []string
		to   any
		want string
	}{
		"Mwan3Rule":          {[]string{"spec", "policy"}, "nobody", "spec.policy: Mwan3Policy default/nobody does not exist"},
		"FirewallForwarding": {[]string{"spec", "dest"}, "nobody", "spec.dest: FirewallZone default/nobody does not exist"},
		"IpsecSite":          {[]string{"spec", "crypto_proposal"}, []any{"nobody"}, "spec.crypto_proposal[0]: IpsecProposal default/nobody does not exist"},
	} {
		o := tiedObjects(t)[kind]
		o.SetName("dangling")
		require.NoError(t, unstructured.SetNestedField(o.Object, tc.to, tc.path...))
		text := a.said(a.create(client, o))
		require.Contains(t, text, tc.want)
		require.Equal(t, refused, strings.HasPrefix(text, "refused: "), text)
	}
}

// validates checks the validation of objects that need each other, and of NetworkPolicies.
func (a *admission) validates() {
	t := a.t
	counted := pod{"default", "counted", "10.244.1.77", "fd00:244:1::77", "node-a"}
	(&world{t: t, kube: a.kube}).create(counted, "app: counted")
	for _, kind := range []string{"Mwan3Policy", "Mwan3Rule", "FirewallZone", "FirewallForwarding", "IpsecProposal", "IpsecSite"} {
		a.make(tiedObjects(t)[kind])
	}
	a.needs(a.as("bob"), true)

	await.True(t, func() bool { return a.advice("ports: [{port: http}]") == "" }, "the pod is known")
	require.Equal(t, `spec.ingress[0].ports[0].port: no selected pod declares a port "htpp" at present; did you mean "http"?`, a.advice("ports: [{port: htpp}]"))
	require.Equal(t, "spec.ingress[0].from[0].ipBlock.except: leaves nothing of 10.2.0.0/24",
		a.advice("from: [{ipBlock: {cidr: 10.2.0.0/24, except: [10.2.0.0/25, 10.2.0.128/25]}}]"))
	require.Contains(t, a.advice("from: [{ipBlock: {cidr: 10.2.0.0/24, except: [10.3.0.0/25]}}]"), "must be a strict subset of",
		"servers of today refuse it themselves, before they ask")
}

// advice returns the warnings about a policy with a rule.
func (a *admission) advice(rule string) string {
	a.t.Helper()
	policy := kubelab.Parse(a.t, `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {namespace: default, name: p},
		spec: {podSelector: {matchLabels: {app: counted}}, ingress: [{`+rule+`}]}}`)
	return a.said(a.create(a.as("bob"), policy[0]))
}

// configuredOtherwise runs a webhook that exempts another group, has a bucket for objects without one, warns of references to
// nothing and reports every policy that costs anything.
func (a *admission) configuredOtherwise() {
	t := a.t
	plain, basic := bucketed("mwan3rules", "default", "x", ""), bucketed("mwan3rules", "default", "x", "basic")
	require.Error(t, a.create(a.as("bob", "crew"), basic))
	require.NoError(t, a.create(a.as("bob"), plain))
	a.pod.Kill()
	a.pod = a.replica("netloom-webhook", 1, a.reviews, "NETLOOM_WEBHOOK_EXEMPT_GROUP=system:masters,crew", "NETLOOM_WEBHOOK_DEFAULT_BUCKET=app-intent",
		"NETLOOM_WEBHOOK_DEPENDENCIES=warn", "NETLOOM_WEBHOOK_MAX_FLOWS=1")
	a.pod.AwaitReady()
	a.awaitAsked()
	require.NoError(t, a.create(a.as("bob", "crew"), basic), "a group that is exempt")
	require.ErrorContains(t, a.create(a.as("bob"), basic), "User(bob) don't have the permission")
	require.ErrorContains(t, a.create(a.as("bob"), plain), "User(bob) don't have the permission", "what is in no bucket is in that one")
	require.NoError(t, a.create(a.as("onap"), plain))
	a.needs(a.as("bob", "crew"), false)
	require.Regexp(t, `^spec: costs node-a about \d+ OpenFlow flows, more than 1$`, a.advice("ports: [{port: http}]"))
}
