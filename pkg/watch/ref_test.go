package watch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/object"
)

func TestParseRef(t *testing.T) {
	for in, want := range map[string]object.Ref{
		"networkpolicy/shop/db": {Kind: KindNetworkPolicy, Namespace: "shop", Name: "db"},
		"NetworkPolicy/shop/db": {Kind: KindNetworkPolicy, Namespace: "shop", Name: "db"},
		"node/n1":               {Kind: KindNode, Name: "n1"},
		"Service/shop/web":      {Kind: KindService, Namespace: "shop", Name: "web"},
	} {
		got, err := ParseRef(in)
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
		_, err := ParseRef(in)
		require.ErrorContains(t, err, fault, in)
	}
}
