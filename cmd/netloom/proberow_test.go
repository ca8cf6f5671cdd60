package main

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/answers/probe"
)

// TestProbeNamesTheRowsThatDecide probes without a database and looks up every row it names in one with the same content.
func TestProbeNamesTheRowsThatDecide(t *testing.T) {
	server := database(t)
	require.NoError(t, server.AddSwitch("node-a"))
	nb := []string{"--ovn-nb", server.Addr()}
	require.Equal(t, exitDone, netloom(t, append([]string{"apply", "--manifests", exampleDir}, nb...)...).code)

	got := netloom(t, "probe", "-f", exampleDir, "-o", "json",
		"*/*->*/*:tcp/9000", "*/*->*/*:tcp/5432", "*/*->*/*:icmp", "203.0.113.7->shop/web-0:8080", "node/node-b->shop/db-0:5432",
		"shop/api-0->monitoring/prometheus-0:udp/53")
	require.Empty(t, got.errout)
	var report struct{ Answers []probe.Answer }
	require.NoError(t, json.Unmarshal([]byte(got.out), &report))
	known := map[string]backends.Trail{}
	sides := 0
	for _, a := range report.Answers {
		for _, f := range a.Flows {
			for _, s := range []*probe.Side{f.Egress, f.Ingress} {
				if len(s.IsolatedBy) == 0 || s.Itself {
					require.Empty(t, s.Rows)
					continue
				}
				sides++
				require.NotEmpty(t, s.Rows, "%s: %+v", a.Question, s)
				for _, row := range s.Rows {
					trail := trailOfRow(t, known, row.UUID, nb)
					require.Equal(t, row.Name, trail.Name)
					if s.Verdict == probe.Allow {
						require.Equal(t, "allow-related", trail.Row["action"])
						require.Contains(t, trail.Origins, row.For)
						match, _ := trail.Row["match"].(string)
						require.NotRegexp(t, map[string]string{"ipv4": `\bip6\b`, "ipv6": `\bip4\b`}[f.Family], match)
					} else {
						require.Equal(t, "drop", trail.Row["action"], "%s", a.Question)
					}
				}
			}
		}
	}
	require.Greater(t, sides, 50)
	require.Greater(t, len(known), 10)

	wide := netloom(t, "probe", "-f", exampleDir, "-o", "wide", "shop/api-0->shop/db-0:5432")
	require.Equal(t, exitDone, wide.code, wide.errout)
	uuid := regexp.MustCompile(`row     ACL shop/db ingress\[0\]  ([0-9a-f-]{36})\n`).FindStringSubmatch(wide.out)
	require.Len(t, uuid, 2, wide.out)
	require.Contains(t, netloom(t, append([]string{"explain", "row", uuid[1]}, nb...)...).out,
		"needed by NetworkPolicy/shop/db spec.ingress[0]")
	require.NotContains(t, netloom(t, "probe", "-f", exampleDir, "shop/api-0->shop/db-0:5432").out, uuid[1])
}

// trailOfRow asks the database for a row, once.
func trailOfRow(t *testing.T, known map[string]backends.Trail, uuid string, nb []string) backends.Trail {
	t.Helper()
	if trail, ok := known[uuid]; ok {
		return trail
	}
	got := netloom(t, append([]string{"explain", "row", uuid, "-o", "json"}, nb...)...)
	require.Equal(t, exitDone, got.code, got.errout)
	var trails struct{ Items []backends.Trail }
	require.NoError(t, json.Unmarshal([]byte(got.out), &trails))
	require.Len(t, trails.Items, 1)
	known[uuid] = trails.Items[0]
	return trails.Items[0]
}
