package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/world"
)

// TestForeignKinds has objects of other projects, and the namespaces whose pods they may concern.
func TestForeignKinds(t *testing.T) {
	everywhere := []string(nil)
	for _, tc := range []struct {
		name, group, kind string
		content           string
		decides           bool
		namespaces        []string
	}{
		{"a policy of Cilium", "cilium.io", "CiliumNetworkPolicy", `{}`, true, []string{"a"}},
		{"a cluster-wide policy of Cilium", "cilium.io", "CiliumClusterwideNetworkPolicy", `{}`, true, everywhere},
		{"a policy of Calico", "projectcalico.org", "NetworkPolicy", `{}`, true, []string{"a"}},
		{"a set of Calico", "projectcalico.org", "NetworkSet", `{}`, false, everywhere},
		{"a policy of Antrea", "crd.antrea.io", "ClusterNetworkPolicy", `{}`, true, everywhere},
		{"a policy of a mesh", "security.istio.io", "AuthorizationPolicy", `{"spec": {"rules": []}}`, true, []string{"a"}},
		{"a policy of another mesh", "policy.linkerd.io", "Server", `{}`, true, []string{"a"}},
		{"a policy of nobody that is known", "example.org", "FancyNetworkPolicy", `{}`, true, []string{"a"}},
		{"a primary network", "k8s.ovn.org", "UserDefinedNetwork", `{"spec": {"topology": "Layer2", "layer2": {"role": "Primary"}}}`, true, []string{"a"}},
		{"a secondary network", "k8s.ovn.org", "UserDefinedNetwork", `{"spec": {"topology": "Layer3", "layer3": {"role": "Secondary"}}}`, false, everywhere},
		{
			"a primary network of named namespaces", "k8s.ovn.org", "ClusterUserDefinedNetwork",
			`{"spec": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "red"}}, "network": {"layer2": {"role": "Primary"}}}}`, true,
			[]string{"red"},
		},
		{
			"a primary network of labelled namespaces", "k8s.ovn.org", "ClusterUserDefinedNetwork",
			`{"spec": {"namespaceSelector": {"matchLabels": {"team": "red"}}, "network": {"layer3": {"role": "Primary"}}}}`, true, everywhere,
		},
		{"a network that cannot be read", "k8s.ovn.org", "UserDefinedNetwork", `{"spec": {"layer2": 7}}`, true, everywhere},
		{"a private subnet", "kubeovn.io", "Subnet", `{"spec": {"private": true, "namespaces": ["red"]}}`, true, []string{"red"}},
		{"a subnet with ACLs", "kubeovn.io", "Subnet", `{"spec": {"acls": [{"action": "drop"}]}}`, true, everywhere},
		{"a subnet of a VPC", "kubeovn.io", "Subnet", `{"spec": {"vpc": "blue"}}`, true, everywhere},
		{"a plain subnet", "kubeovn.io", "Subnet", `{"spec": {"vpc": "ovn-cluster", "private": false}}`, false, everywhere},
		{"the default VPC", "kubeovn.io", "Vpc", `{"metadata": {"name": "ovn-cluster"}, "spec": {}}`, false, everywhere},
		{"a VPC", "kubeovn.io", "Vpc", `{"spec": {"namespaces": ["blue"]}}`, true, []string{"blue"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if !world.MayDecide(tc.group, tc.kind) {
				require.False(t, tc.decides)
				return
			}
			f, decides := world.ForeignOf(tc.group, tc.kind, "a", []byte(tc.content))
			require.Equal(t, tc.decides, decides)
			if decides {
				require.Equal(t, world.Foreign{Kind: tc.kind, Namespaces: tc.namespaces}, f)
			}
		})
	}
}
