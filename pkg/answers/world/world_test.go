package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/answerstest"
	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/answers/world"
)

const pods = `
{apiVersion: v1, kind: Pod, metadata: {name: web-0, namespace: shop, labels: {app: web}}, status: {podIP: 10.0.0.1}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop, labels: {app: web}}, status: {podIP: 10.0.0.2}}
---
{apiVersion: v1, kind: Pod, metadata: {name: db-0, namespace: shop}, status: {podIP: 10.0.0.3}}
---
{apiVersion: v1, kind: Pod, metadata: {name: db-0, namespace: test}, status: {podIP: 10.0.0.4}}
---
{apiVersion: v1, kind: Pod, metadata: {name: cart, namespace: shop}, status: {podIP: 10.0.0.5}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {clusterIP: 10.96.0.1, ports: [{name: http, port: 80}]}}
`

// known is a world with two pods of a Deployment, and a CronJob and a pod that have one name.
func known(t *testing.T) *world.World {
	state := answerstest.StateOf(t, answerstest.ObjectsOf(t, pods))
	state.Workloads = []world.Workload{
		{Kind: name.Deployment, Namespace: "shop", Name: "web", Pods: []string{"web-0", "web-1"}},
		{Kind: name.StatefulSet, Namespace: "shop", Name: "db", Pods: []string{"db-0"}},
		{Kind: name.StatefulSet, Namespace: "test", Name: "db", Pods: []string{"db-0"}},
		{Kind: name.CronJob, Namespace: "shop", Name: "cart", Pods: []string{"web-0"}},
	}
	return world.New(state)
}

// TestNamesAreReadAlike checks that what names an end of a connection names an object to explain, too, and the other way round.
func TestNamesAreReadAlike(t *testing.T) {
	w := known(t)
	for _, tc := range []struct {
		text, namespace string
		ends            []string // the first one is what is explained
		err             string   // of both
	}{
		{"shop/web-0", "", []string{"shop/web-0"}, ""},
		{"web-0", "shop", []string{"shop/web-0"}, ""},
		{"pod/web-0", "", []string{"shop/web-0"}, ""},
		{"pod/db-0", "test", []string{"test/db-0"}, ""},
		{"pod/db-0", "", nil, "pod db-0: expected a namespace: there is one in shop and test"},
		{"pods/shop/web-1", "", []string{"shop/web-1"}, ""},
		{"deploy/shop/web", "", []string{"shop/web-0", "shop/web-1"}, ""},
		{"shop/deploy/web", "test", []string{"shop/web-0", "shop/web-1"}, ""},
		{"deploy/web", "", []string{"shop/web-0", "shop/web-1"}, ""},
		{"shop/web", "", []string{"shop/web-0", "shop/web-1"}, ""},
		{"web", "shop", []string{"shop/web-0", "shop/web-1"}, ""},
		{"sts/db", "test", []string{"test/db-0"}, ""},
		{"sts/db", "", nil, "sts/db: expected a namespace: there are sts/shop/db and sts/test/db"},
		{"shop/cart", "", []string{"shop/cart"}, ""}, // the pod goes before the CronJob
		{"cj/shop/cart", "", []string{"shop/web-0"}, ""},
		{"svc/web", "", []string{"svc/shop/web"}, ""},
		{"svc/shop/web:http", "", []string{"svc/shop/web:http"}, ""},
		{"web.shop.svc", "", []string{"svc/shop/web"}, ""},
		{"shop/webb", "", nil, "pod shop/webb: not found; did you mean shop/web-0 or shop/web-1?"},
		{"deploy/shop/webb", "", nil, "deploy/shop/webb: not found; did you mean deploy/shop/web?"},
		{"deploy/shop/db", "", nil, "deploy/shop/db: not found; did you mean sts/shop/db, sts/test/db or deploy/shop/web?"},
		{"thing/shop/web", "", nil, `"thing/shop/web": "thing" is not a kind`},
	} {
		t.Run(tc.text+" in "+tc.namespace, func(t *testing.T) {
			ends, err := w.Ends(tc.text, tc.namespace)
			_, object, objectErr := w.Object(tc.text, tc.namespace)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				require.ErrorContains(t, objectErr, tc.err)
				return
			}
			require.NoError(t, err)
			require.NoError(t, objectErr)
			var names []string
			for i := range ends {
				names = append(names, ends[i].Name)
			}
			require.Equal(t, tc.ends, names)
			explained := object.Full()
			if object.Kind == name.Service {
				explained = "svc/" + explained
				if object.Port != "" {
					explained += ":" + object.Port
				}
			}
			require.Equal(t, tc.ends[0], explained)
		})
	}
}

func TestWorkloadsThatWereNotRead(t *testing.T) {
	w := world.New(answerstest.StateOf(t, answerstest.ObjectsOf(t, pods)))
	_, err := w.Ends("deploy/shop/web", "")
	require.EqualError(t, err, "deploy/shop/web: not found; no workloads were read")
	found, err := w.Ends("sts/shop/db", "") // by the names that its controller gives to pods
	require.NoError(t, err)
	require.Equal(t, "shop/db-0", found[0].Name)
}
