package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/answers/probe"
)

var exampleDir = filepath.Join("..", "..", "examples")

func TestProbe(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		code int
		out  []string
		eout string
	}{
		{
			"allowed",
			[]string{"shop/web-0->shop/api-0:tcp/9000"},
			exitDone,
			[]string{"allow   shop/web-0 -> shop/api-0 tcp/9000\n", "NetworkPolicy/shop/web spec.egress[0]\n", "to deny it, one of:"},
			"",
		},
		{
			"denied",
			[]string{"shop/web-0->shop/db-0:5432"},
			exitDiffers,
			[]string{"deny    shop/web-0 -> shop/db-0 tcp/5432\n", "no rule of NetworkPolicy/shop/allow-dns, NetworkPolicy/shop/default-deny", "to allow it:"},
			"",
		},
		{
			"one of two",
			[]string{"shop/api-0->shop/db-0:5432", "shop/web-0->shop/db-0:5432"},
			exitDiffers,
			[]string{"allow   shop/api-0", "\n\ndeny    shop/web-0"},
			"",
		},
		{
			"as expected",
			[]string{"-n", "shop", "web-*->db-0:5432", "--expect", "deny"},
			exitDone,
			[]string{"deny    shop/web-0, shop/web-1 (2) -> shop/db-0 tcp/5432"},
			"",
		},
		{
			"otherwise than expected",
			[]string{"-n", "shop", "*->db-0:5432", "--expect", "deny"},
			exitDiffers,
			[]string{"allow   shop/api-0"},
			"netloom: 2 of 4 verdicts are not deny\n",
		},
		{
			"without quotes",
			[]string{"--from", "shop/web-0", "--to", "shop/db-0", "--port", "5432"},
			exitDiffers,
			[]string{"deny    shop/web-0 -> shop/db-0 tcp/5432\n"},
			"",
		},
		{"a typo", []string{"shop/web-0->shop/db-9:5432"}, exitFailed, nil, "netloom: to pod shop/db-9: not found; did you mean shop/db-0"},
		{
			"two typos",
			[]string{"shop/web-9->shop/db-0:80", "shop/web-0->shop/db-9:80"},
			exitFailed, nil,
			"netloom: from pod shop/web-9: not found; did you mean shop/web-0, shop/web-1 or shop/db-0?\nto pod shop/db-9: not found",
		},
		{
			"all that is wrong with a call",
			[]string{"shop/web-", "--from", "a/b", "-o", "xml", "--expect", "maybe"},
			exitFailed, nil,
			"netloom: \"shop/web-\": expected SRC->DST:tcp/80; quote it because of the shell\n" +
				"--from, --to and --port must be used together\n--expect: \"maybe\": expected allow, deny or refuse\n" +
				"--output: \"xml\": expected table, wide, name, json or yaml\n",
		},
		{"nothing asked", nil, exitFailed, nil, "netloom: expected a connection, such as 'shop/web-0->shop/db-0:tcp/5432'\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := netloom(t, append([]string{"probe", "-f", exampleDir}, tc.args...)...)
			require.Equal(t, tc.code, got.code, got.errout)
			if tc.eout == "" {
				require.Empty(t, got.errout)
			}
			require.Contains(t, got.errout, tc.eout)
			for _, want := range tc.out {
				require.Contains(t, got.out, want)
			}
			require.NotContains(t, got.out, "\x1b[", "a file is no terminal")
		})
	}
}

func TestProbeAsData(t *testing.T) {
	args := []string{"probe", "-f", exampleDir, "shop/web-0->shop/db-0:5432", "-o"}
	var fromJSON, fromYAML struct{ Answers []probe.Answer }
	got := netloom(t, append(args, "json")...)
	require.Equal(t, exitDiffers, got.code)
	require.NoError(t, json.Unmarshal([]byte(got.out), &fromJSON))
	require.NoError(t, yaml.Unmarshal([]byte(netloom(t, append(args, "yaml")...).out), &fromYAML))
	require.Equal(t, fromJSON, fromYAML)
	require.Len(t, fromJSON.Answers, 1)
	require.Equal(t, probe.Deny, fromJSON.Answers[0].Verdict)
	for _, name := range []string{
		`"question"`, `"verdict": "deny"`, `"flows"`, `"family": "ipv6"`, `"egress"`, `"isolatedBy"`, `"change"`,
	} {
		require.Contains(t, got.out, name)
	}
}

func TestProblemsAreReportedBesideAnswers(t *testing.T) {
	dir := manifests(t)
	write(t, dir, "policies.yaml", strings.Replace(policies(2), "port: 5432", "port: 99999", 1))
	got := netloom(t, "probe", "-f", dir, "shop/web-0->shop/db-0:5432")
	require.Equal(t, exitCannotTell, got.code)
	require.Contains(t, got.errout, "problem: "+filepath.Join(dir, "policies.yaml")+":9: NetworkPolicy/shop/db-client-a: "+
		"spec.ingress[0].ports[0].port: ")
	require.Contains(t, got.out, "NetworkPolicy/shop/db-client-b spec.ingress[0]")
}

func TestManifestsMayBeAFile(t *testing.T) {
	file := filepath.Join(exampleDir, "shop", "pods.yaml")
	got := netloom(t, "probe", "-f", file, "shop/web-0->shop/db-0:5432")
	require.Equal(t, exitDone, got.code, "there is no policy in it: %s", got.errout)

	got = netloom(t, "probe", "-f", filepath.Join(t.TempDir(), "none"), "shop/web-0->shop/db-0:5432")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.errout, "netloom: read manifests: ")
	got = netloom(t, "probe", "shop/web-0->shop/db-0:5432")
	require.Equal(t, "netloom: -f: expected a directory of manifests, a file, or - for standard input; "+
		"or use -k for a kustomization, --server for a running daemon, --kubeconfig for a cluster\n", got.errout)
}

func TestShellsCompleteObjects(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"probe", "-f", exampleDir, "--from", "shop/we"}, "shop/web-0\nshop/web-1\n:4\n"},
		{[]string{"probe", "-f", exampleDir, "--to", "nod"}, "node/node-a\nnode/node-b\n:4\n"},
		{[]string{"probe", "-f", exampleDir, "--node", ""}, "node-a\nnode-b\n:4\n"},
		{[]string{"probe", "-f", exampleDir, "--expect", ""}, "allow\ndeny\nrefuse\n:4\n"},
		{[]string{"probe", "--from", "shop/we"}, ":4\n"},
	} {
		require.Equal(t, tc.want, netloom(t, append([]string{"__complete"}, tc.args...)...).out)
	}
}
