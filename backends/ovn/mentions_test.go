package ovn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// TestMentionedObjects reads the keys of notes as they are written for policies with and without a namespace and a cluster.
func TestMentionedObjects(t *testing.T) {
	for _, o := range []intent.Origin{
		{Kind: "NetworkPolicy", Namespace: "shop", Name: "web"},
		{Kind: "NetworkPolicy", Namespace: "shop", Name: "web", Cluster: "east"},
		{Kind: "ClusterNetworkPolicy", Name: "web"},
		{Kind: "ClusterNetworkPolicy", Name: "web", Cluster: "east"},
	} {
		key := string(intent.NewPolicyID(o, intent.Egress))
		found := mentionsIn(map[string]string{nb.KeyID: policiesPrefix + homeOf(o), key: "shared/1 spec.egress[0]; " + testUUID + " spec.egress[1]"})
		require.Equal(t, []mention{
			{key: key, origin: o.String(), path: "spec.egress[0]", set: "shared/1"},
			{key: key, origin: o.String(), path: "spec.egress[1]", acl: testUUID},
		}, found)
		ref, ok := refOfOrigin(found[0].origin)
		require.True(t, ok)
		require.Equal(t, object.Ref{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}, ref)
	}
}

const testUUID = "11111111-1111-4111-8111-111111111111"

// TestNotesThatOthersWrote reads notes that netloom does not write. They mention nothing that exists.
func TestNotesThatOthersWrote(t *testing.T) {
	for key, value := range map[string]string{
		"": "x", "/": "", "a": "b", "Kind": "; ;", "a/b/c/d/e/f": " ", testUUID: testUUID, "NetworkPolicy/shop/web/ingress": "",
	} {
		for _, prefix := range []string{policiesPrefix, groupPrefix} {
			for _, m := range mentionsIn(map[string]string{nb.KeyID: prefix, key: value}) {
				_, _ = refOfOrigin(m.origin)
				require.Equal(t, key, m.key)
			}
			mentioned{}.addressSet(map[string]string{nb.KeyID: prefix, key: value})
		}
	}
	require.Nil(t, mentionsIn(map[string]string{nb.KeyID: "s/v4", "NetworkPolicy/shop/web/ingress": "a b"}), "not of notes")
}
