package name_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/name"
)

// known is a set of two clusters: a, the own one, and b. There is a namespace that has the name of a kind, one that has that of a
// cluster, and one kind of SD-WAN objects.
func known() name.Known {
	return name.Known{
		Clusters:  []string{"a", "b"},
		Namespace: func(is string) bool { return slices.Contains([]string{"shop", "svc", "deploy", "b"}, is) },
		Kind: func(word string) (name.Kind, bool) {
			return "mwan3rule", word == "mwan3rule" || word == "mwan3rules"
		},
	}
}

func TestForms(t *testing.T) {
	for _, tc := range []struct {
		text, namespace string
		want            name.Name
	}{
		{"shop/web-0", "", name.Name{Namespace: "shop", Name: "web-0"}},
		{"web-0", "shop", name.Name{Namespace: "shop", Name: "web-0"}},
		{"web-0", "", name.Name{Name: "web-0"}},
		{"web-0", name.AllNamespaces, name.Name{Namespace: "*", Name: "web-0"}},
		{"pod/web-0", "", name.Name{Kind: name.Pod, Name: "web-0"}},
		{"pod/web-0", "shop", name.Name{Kind: name.Pod, Namespace: "shop", Name: "web-0"}},
		{"PODS/shop/web-0", "x", name.Name{Kind: name.Pod, Namespace: "shop", Name: "web-0"}},
		{"pod/shop/deploy/web", "", name.Name{Kind: name.Pod, Namespace: "shop", Name: "deploy/web"}},
		{"netpol/shop/db", "", name.Name{Kind: name.NetworkPolicy, Namespace: "shop", Name: "db"}},
		{"np/db", "shop", name.Name{Kind: name.NetworkPolicy, Namespace: "shop", Name: "db"}},
		{"cnp/lockdown", "shop", name.Name{Kind: name.ClusterNetworkPolicy, Name: "lockdown"}},
		{"node/n1", "shop", name.Name{Kind: name.Node, Name: "n1"}},
		{"ns/shop", "x", name.Name{Kind: name.Namespace, Name: "shop"}},
		{"sts/db", "shop", name.Name{Kind: name.StatefulSet, Namespace: "shop", Name: "db"}},
		{"deployments/shop/web", "", name.Name{Kind: name.Deployment, Namespace: "shop", Name: "web"}},
		{"shop/deploy/web", "", name.Name{Kind: name.Deployment, Namespace: "shop", Name: "web"}},
		{"svc/shop/db", "", name.Name{Kind: name.Service, Namespace: "shop", Name: "db"}},
		{"svc/shop/db:5432", "", name.Name{Kind: name.Service, Namespace: "shop", Name: "db", Port: "5432"}},
		{"svc/db:tcp/5432", "shop", name.Name{Kind: name.Service, Namespace: "shop", Name: "db", Port: "tcp/5432"}},
		{"shop/svc/db:postgres", "", name.Name{Kind: name.Service, Namespace: "shop", Name: "db", Port: "postgres"}},
		{"db.shop.svc", "x", name.Name{Kind: name.Service, Namespace: "shop", Name: "db"}},
		{"db.shop.svc.cluster.local:5432", "", name.Name{Kind: name.Service, Namespace: "shop", Name: "db", Port: "5432"}},
		{"mwan3rules/branch/web", "", name.Name{Kind: "mwan3rule", Namespace: "branch", Name: "web"}},
		{"10.0.0.1", "shop", name.Name{Kind: name.Address, Addr: netip.MustParseAddr("10.0.0.1")}},
		{"[fd00::1]", "", name.Name{Kind: name.Address, Addr: netip.MustParseAddr("fd00::1")}},
		{"::ffff:10.0.0.1", "", name.Name{Kind: name.Address, Addr: netip.MustParseAddr("10.0.0.1")}},

		{"shop/web-*", "", name.Name{Namespace: "shop", Name: "web-*"}},
		{"*/app=web", "", name.Name{Namespace: "*", Name: "app=web"}},
		{"shop/app.kubernetes.io/name=web,tier!=db", "", name.Name{Namespace: "shop", Name: "app.kubernetes.io/name=web,tier!=db"}},
		{"app.kubernetes.io/name=web", "shop", name.Name{Namespace: "shop", Name: "app.kubernetes.io/name=web"}},

		{"b/shop/db-0", "x", name.Name{Cluster: "b", Namespace: "shop", Name: "db-0"}},
		{"b/svc/shop/db:5432", "", name.Name{Cluster: "b", Kind: name.Service, Namespace: "shop", Name: "db", Port: "5432"}},
		{"svc/b/shop/db", "", name.Name{Cluster: "b", Kind: name.Service, Namespace: "shop", Name: "db"}},
		{"b/shop/deploy/web", "", name.Name{Cluster: "b", Kind: name.Deployment, Namespace: "shop", Name: "web"}},
		{"b/node/n1", "", name.Name{Cluster: "b", Kind: name.Node, Name: "n1"}},
		{"b/db-0", "", name.Name{Namespace: "b", Name: "db-0"}}, // of two parts, the first is a namespace

		{"svc/db-0", "", name.Name{Namespace: "svc", Name: "db-0"}}, // the namespace that has the name of a kind
		{"svc/db-0", "shop", name.Name{Kind: name.Service, Namespace: "shop", Name: "db-0"}},
		{"svc/shop/db-0", "", name.Name{Kind: name.Service, Namespace: "shop", Name: "db-0"}},
		{"deploy/db-0", "shop", name.Name{Namespace: "deploy", Name: "db-0"}},
	} {
		t.Run(tc.text+" in "+tc.namespace, func(t *testing.T) {
			got, err := name.Parse(tc.text, tc.namespace, known())
			require.NoError(t, err)
			tc.want.Text = tc.text
			require.Equal(t, tc.want, got)
		})
	}
}

func TestWhatIsNotAName(t *testing.T) {
	const expected = ": expected NAMESPACE/NAME, KIND/NAMESPACE/NAME, svc/NAMESPACE/NAME:PORT, node/NAME or an address"
	for text, want := range map[string]string{
		"":                   `"": a part is empty` + expected,
		"shop/":              `"shop/": a part is empty` + expected,
		"/web-0":             `"/web-0": a part is empty` + expected,
		"thing/shop/web":     `"thing/shop/web": "thing" is neither a kind nor one of the clusters a and b` + expected,
		"node/a/b":           `"node/a/b": expected node/NAME`,
		"ns/a/b":             `"ns/a/b": expected namespace/NAME`,
		"svc/x/shop/db":      `"svc/x/shop/db": expected service/NAMESPACE/NAME`,
		"pod/x/b/c":          `"pod/x/b/c": expected pod/NAMESPACE/NAME`,
		"shop/web-0:80":      `"shop/web-0:80": only a Service has a port in its name: expected svc/NAMESPACE/NAME:80`,
		"b/deploy/web":       `"b/deploy/web": b is a cluster and a namespace: write deploy/b/web for the namespace, or b/deploy/NAMESPACE/web for the cluster`,
		"fd00::1/64":         `"fd00::1/64": only a Service has a port in its name: expected svc/NAMESPACE/NAME::1/64`,
		"thing/deploy/x/web": `"thing/deploy/x/web": expected deploy/NAMESPACE/NAME`,
	} {
		_, err := name.Parse(text, "", known())
		require.EqualError(t, err, want, text)
	}
	alone := known()
	alone.Clusters = nil
	_, err := name.Parse("thing/shop/web", "", alone)
	require.EqualError(t, err, `"thing/shop/web": "thing" is not a kind`+expected)
}

func TestKinds(t *testing.T) {
	for word, want := range map[string]name.Kind{"po": name.Pod, "Services": name.Service, "STS": name.StatefulSet, "banp": name.BaselineAdminNetworkPolicy, "ns": name.Namespace} {
		got, ok := name.KindOf(word)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	_, ok := name.KindOf("policy")
	require.False(t, ok)
	require.True(t, name.Job.Workload())
	require.False(t, name.Pod.Workload())
	require.False(t, name.Node.Namespaced())
	require.True(t, name.Kind("mwan3rule").Namespaced())
}

// FuzzParse checks that no text crashes the parser or is lost by it.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"b/svc/shop/db:tcp/5432", "shop/app.kubernetes.io/name=web", "[::1]", "a//b", "db.shop.svc.x"} {
		f.Add(text, "shop")
	}
	f.Fuzz(func(t *testing.T, text, namespace string) {
		n, err := name.Parse(text, namespace, known())
		if err != nil {
			require.ErrorContains(t, err, "expected")
			return
		}
		require.Equal(t, text, n.Text)
		require.NotEqual(t, n.Name == "", n.Kind != name.Address)
	})
}
