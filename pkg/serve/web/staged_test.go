package web_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/answers/answerstest"
	"github.com/netloom/netloom/pkg/answers/probe"
	"github.com/netloom/netloom/pkg/serve/web"
)

// TestThePageNamesStagedPolicies: lists, pages and verdicts name staged policies, those of a namespace too. Verdicts stay as they are.
func TestThePageNamesStagedPolicies(t *testing.T) {
	objects := answerstest.ObjectsOf(t, `
apiVersion: v1
kind: Namespace
metadata: {name: shop, annotations: {netloom.io/enforcement: staged}}
---
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop, labels: {app: a}}
status: {podIP: 10.0.0.1}
---
apiVersion: v1
kind: Pod
metadata: {name: b, namespace: shop, labels: {app: b}}
status: {podIP: 10.0.0.2}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: old, namespace: shop, annotations: {netloom.io/enforcement: enforced}}
spec: {podSelector: {matchLabels: {app: b}}, ingress: [{from: [{podSelector: {}}]}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: new, namespace: shop, annotations: {netloom.io/stages: old}}
spec: {podSelector: {matchLabels: {app: b}}}
`)
	var further []runtime.Object
	for _, o := range objects {
		if ns, ok := o.(*corev1.Namespace); ok {
			further = append(further, ns)
		}
	}
	s := serve(&source{state: web.State{State: stateOf(t, objects), Number: 1, At: moment, Further: further}})
	var list struct{ Policies []web.PolicyLine }
	require.NoError(t, json.Unmarshal(s.get(t, "/api/v1/policies").Body.Bytes(), &list))
	require.Len(t, list.Policies, 2)
	require.Equal(t, web.PolicyLine{Namespace: "shop", Name: "new", Staged: true}, list.Policies[0])
	require.False(t, list.Policies[1].Staged)
	var page web.PolicyPage
	require.NoError(t, json.Unmarshal(s.get(t, "/api/v1/policies/shop/new").Body.Bytes(), &page))
	require.Equal(t, "staged: it neither denies nor allows anything; it is to replace NetworkPolicy/shop/old", page.Staged)
	var why web.Why
	require.NoError(t, json.Unmarshal(s.get(t, "/api/v1/why?from=shop/a&to=shop/b&port=tcp/80").Body.Bytes(), &why))
	require.Len(t, why.Answers, 1)
	require.Equal(t, probe.Allow, why.Answers[0].Verdict)
	require.Equal(t, &probe.Staged{Verdict: probe.Deny, By: []string{"NetworkPolicy/shop/new"}}, why.Answers[0].Staged)
}
