package manifest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/inputs/source"
)

// TestKeysAreHiddenInEveryKind exports the kinds that hold keys.
func TestKeysAreHiddenInEveryKind(t *testing.T) {
	peer := v1alpha1.IpsecPeer{PreSharedKey: "s3cr3t", LocalPrivateCert: "k3y"}
	site, host := &v1alpha1.IpsecSite{}, &v1alpha1.IpsecHost{}
	site.Spec.IpsecPeer, host.Spec.IpsecPeer = peer, peer
	for _, o := range []source.Object{site, host} {
		withoutSecrets(o)
	}
	for _, shown := range []v1alpha1.IpsecPeer{site.Spec.IpsecPeer, host.Spec.IpsecPeer} {
		require.Equal(t, hidden, shown.PreSharedKey)
		require.Equal(t, hidden, shown.LocalPrivateCert)
	}
}

func TestFieldsOfSecretsAreKnown(t *testing.T) {
	for _, tc := range []struct {
		kind, path string
		want       bool
	}{
		{"Secret", "data.key", true},
		{"Secret", "stringData.key", true},
		{"Secret", "metadata.name", false},
		{"ConfigMap", "stringData.key", false},
		{"IpsecHost", "spec.pre_shared_key", true},
		{"IpsecHost", "spec.connections[0].name", false},
	} {
		require.Equal(t, tc.want, isSecretField(tc.kind, tc.path), "%s %s", tc.kind, tc.path)
	}
}
