package web_test

import (
	"encoding/json"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/serve/web"
)

// TestAPolicyIsShownAsWritten reads a policy with a rule that is translated to several, and with an exception.
func TestAPolicyIsShownAsWritten(t *testing.T) {
	manifests := manifest.Load("test.yaml", []byte(`
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop, labels: {app: a}}
spec: {containers: [{name: a, image: a, ports: [{name: http, containerPort: 80}]}]}
status: {podIP: 10.0.0.1}
---
apiVersion: v1
kind: Pod
metadata: {name: b, namespace: shop, labels: {app: b}}
spec: {containers: [{name: b, image: b, ports: [{name: http, containerPort: 8080}]}]}
status: {podIP: 10.0.0.2}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: a, namespace: shop}
spec:
  podSelector: {}
  ingress:
  - from: [{podSelector: {matchLabels: {app: a}}}]
    ports: [{port: http}]
  - from: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.0/8]}}]
`), manifest.Options{}, logrus.New())
	var objects []runtime.Object
	for _, ref := range manifests.Refs() {
		object, ok := manifests.Get(ref)
		require.True(t, ok)
		objects = append(objects, object)
	}
	s := serve(&source{state: web.State{State: stateOf(t, objects), Number: 1, At: moment}})
	var list struct{ Policies []web.PolicyLine }
	require.NoError(t, json.Unmarshal(s.get(t, "/api/v1/policies").Body.Bytes(), &list))
	require.Equal(t, 2, list.Policies[0].Rules)
	var page web.PolicyPage
	require.NoError(t, json.Unmarshal(s.get(t, "/api/v1/policies/shop/a").Body.Bytes(), &page))
	require.Equal(t, 2, page.Intents[0].Written)
	require.Greater(t, len(page.Intents[0].Rules), 2)
	var titles []string
	for _, set := range page.Sets {
		titles = append(titles, set.Title)
	}
	require.Contains(t, titles, "0.0.0.0/0 except 10.0.0.0/8")
}
