package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/config"
)

func TestPeers(t *testing.T) {
	c, err := place{args: "--ovn-nb tcp:127.0.0.1:6641 --cluster a --peer-clusters b=east/b,c --peer-kubeconfig k --peer-manifests d=/d " +
		"--peer-selectors set"}.load(t)
	require.NoError(t, err)
	require.Equal(t, config.Others{
		Clusters: []config.Other{{Name: "b", Place: "east/b"}, {Name: "c", Place: "c"}}, Kubeconfig: "k",
		Manifests: []config.Other{{Name: "d", Place: "/d"}}, Selectors: config.PeersSet,
	}, c.Others)
	for name, tc := range map[string]struct {
		args string
		want string
	}{
		"without an own name":        {"--peer-manifests=b=/b", "needs cluster, the name of the own cluster"},
		"upstreams without a name":   {"--upstreams=/d", "needs cluster, the name of the own cluster"},
		"an API without a name":      {"--upstreams=crd", "needs cluster, the name of the own cluster"},
		"an API without a context":   {"--cluster=a --upstreams=crd=", "DIRECTORY, crd or crd=CONTEXT"},
		"a context of no file":       {"--cluster=a --upstreams=crd=hub", "needs peer-kubeconfig"},
		"the API of a directory":     {"--cluster=a --upstreams=crd --manifests=/m", "the own cluster is a directory of manifests"},
		"the own name":               {"--cluster=a --peer-manifests=a=/b", "names cluster a twice, or the own cluster"},
		"twice":                      {"--cluster=a --peer-clusters=b --peer-kubeconfig=k --peer-manifests=b=/b", "names cluster b twice"},
		"without a kubeconfig":       {"--cluster=a --peer-clusters=b", "needs peer-kubeconfig"},
		"a name that is no label":    {"--cluster=a --peer-clusters=B_ --peer-kubeconfig=k", "NAME or NAME=CONTEXT"},
		"a directory without name":   {"--cluster=a --peer-manifests=/b", "NAME=DIRECTORY"},
		"an unknown kind of default": {"--peer-selectors=all", "local"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := place{args: "--ovn-nb tcp:127.0.0.1:6641 " + tc.args}.load(t)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestUpstreams(t *testing.T) {
	for text, want := range map[string]config.Upstreams{
		"/d":           {Directory: "/d"},
		"./crd":        {Directory: "./crd"},
		"crd":          {API: true},
		"crd=hub=east": {API: true, Context: "hub=east"},
		"":             {},
	} {
		c, err := place{args: "--ovn-nb tcp:127.0.0.1:6641 --cluster a --peer-kubeconfig k --upstreams=" + text}.load(t)
		require.NoError(t, err)
		require.Equal(t, want, c.Others.Upstreams)
	}
}
