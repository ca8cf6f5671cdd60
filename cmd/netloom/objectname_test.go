package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/object"
)

func TestObjectNamed(t *testing.T) {
	for in, want := range map[string]object.Ref{
		"networkpolicy/shop/db":   {Kind: object.KindNetworkPolicy, Namespace: "shop", Name: "db"},
		"NetworkPolicy/shop/db":   {Kind: object.KindNetworkPolicy, Namespace: "shop", Name: "db"},
		"netpol/db":               {Kind: object.KindNetworkPolicy, Namespace: "here", Name: "db"},
		"networkpolicies/shop/db": {Kind: object.KindNetworkPolicy, Namespace: "shop", Name: "db"},
		"node/n1":                 {Kind: object.KindNode, Name: "n1"},
		"ns/shop":                 {Kind: object.KindNamespace, Name: "shop"},
		"Service/shop/web":        {Kind: object.KindService, Namespace: "shop", Name: "web"},
		"cnp/guard":               {Kind: object.KindClusterNetworkPolicy, Name: "guard"},
		"deploy/shop/web":         {Kind: "Deployment", Namespace: "shop", Name: "web"},
		"shop/deploy/web":         {Kind: "Deployment", Namespace: "shop", Name: "web"},
		"statefulset/db":          {Kind: "StatefulSet", Namespace: "here", Name: "db"},
		"endpointslices/shop/web": {Kind: object.KindEndpointSlice, Namespace: "shop", Name: "web"},
	} {
		got, err := objectNamed(in, "here")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, r := range v1alpha1.Resources() {
		got, err := objectNamed(strings.ToLower(r.Kind)+"/shop/lan", "here")
		require.NoError(t, err)
		require.Equal(t, object.Ref{Kind: r.Kind, Namespace: "shop", Name: "lan"}, got)
	}
	for in, fault := range map[string]string{
		"db":                   "expected one of networkpolicy, pod,",
		"secret/shop/a":        `"secret" is not a kind`,
		"10.0.0.1":             "expected one of networkpolicy",
		"networkpolicy//db":    "a part is empty",
		"networkpolicy/shop/":  "a part is empty",
		"node/a/b":             "expected node/NAME",
		"networkpolicy/a/b/c":  "expected networkpolicy/NAMESPACE/NAME",
		"pod/shop/web-*":       "expected the name of one object",
		"pod/shop/app=web":     "expected the name of one object",
		"svc/shop/web:80":      "expected the name of one object",
		"pod/shop/deploy/web":  "expected the name of one object",
		"networkpolicy/db:443": "only a Service has a port",
	} {
		_, err := objectNamed(in, "here")
		require.ErrorContains(t, err, fault, in)
	}
}
