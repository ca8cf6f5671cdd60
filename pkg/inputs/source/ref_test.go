package source_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

func TestParseRef(t *testing.T) {
	for in, want := range map[string]object.Ref{
		"networkpolicy/shop/db": {Kind: object.KindNetworkPolicy, Namespace: "shop", Name: "db"},
		"NetworkPolicy/shop/db": {Kind: object.KindNetworkPolicy, Namespace: "shop", Name: "db"},
		"node/n1":               {Kind: object.KindNode, Name: "n1"},
		"Service/shop/web":      {Kind: object.KindService, Namespace: "shop", Name: "web"},
	} {
		got, err := source.ParseRef(in)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for in, fault := range map[string]string{
		"db":                  "expected one of networkpolicy, pod,",
		"deployment/shop/web": "expected one of networkpolicy, pod,",
		"networkpolicy/db":    "expected networkpolicy/namespace/name",
		"networkpolicy//db":   "expected networkpolicy/namespace/name",
		"node/a/b":            "expected node/name",
		"node/":               "expected node/name",
		"networkpolicy/a/b/c": "expected networkpolicy/namespace/name",
		"networkpolicy/shop/": "expected networkpolicy/namespace/name",
	} {
		_, err := source.ParseRef(in)
		require.ErrorContains(t, err, fault, in)
	}
}

func TestParseRefOfSDWANResources(t *testing.T) {
	for _, r := range v1alpha1.Resources() {
		ref, err := source.ParseRef(strings.ToLower(r.Kind) + "/shop/lan")
		require.NoError(t, err)
		require.Equal(t, object.Ref{Kind: r.Kind, Namespace: "shop", Name: "lan"}, ref)
	}
	_, err := source.ParseRef("secret/shop/a")
	require.Error(t, err)
}
