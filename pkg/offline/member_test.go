package offline_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/explain"
	"github.com/netloom/netloom/pkg/answers/impact"
	"github.com/netloom/netloom/pkg/answers/probe"
	"github.com/netloom/netloom/pkg/answers/question"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/offline"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/field"
)

// Cluster b denies what is not from the shop of a, cluster c has a web server whose name pods of others have too.
const (
	clusterA = `
{apiVersion: v1, kind: Pod, metadata: {name: web-0, namespace: shop, labels: {app: web}}, status: {podIP: 10.1.0.1}}
---
{apiVersion: v1, kind: Pod, metadata: {name: db-0, namespace: shop, labels: {app: db}}, status: {podIP: 10.1.0.2}}
---
{apiVersion: v1, kind: Pod, metadata: {name: twin, namespace: shop}, status: {podIP: 10.9.0.9}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: db, namespace: shop}
spec:
  podSelector: {matchLabels: {app: db}}
  ingress: [{from: [{podSelector: {matchLabels: {app: web}}, namespaceSelector: {matchLabels: {netloom.io/cluster: b}}}]}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web, namespace: shop}
spec:
  podSelector: {matchLabels: {app: web}}
  policyTypes: [Egress]
  egress: [{ports: [{port: 80}, {port: 81}]}]
`
	clusterB = `
{apiVersion: v1, kind: Pod, metadata: {name: web-0, namespace: shop, labels: {app: web}}, status: {podIP: 10.2.0.1}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-0, namespace: ops, labels: {app: web}}, status: {podIP: 10.2.0.2}}
---
{apiVersion: v1, kind: Pod, metadata: {name: twin, namespace: shop}, status: {podIP: 10.9.0.9}}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {clusterIP: 10.97.0.1, selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web, namespace: shop}
spec:
  podSelector: {}
  ingress: [{from: [{namespaceSelector: {matchLabels: {netloom.io/cluster: a}}}], ports: [{port: 80}]}]
`
	clusterC = `
{apiVersion: v1, kind: Pod, metadata: {name: web-0, namespace: shop, labels: {app: web}}, status: {podIP: 10.3.0.1}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, namespace: shop}
spec: {selector: {matchLabels: {app: api}}, template: {metadata: {labels: {app: api}}, spec: {containers: [{name: api, image: api}]}}}
`
)

// dumped is what a daemon of cluster a that has read b lists, with c unread.
func dumped(t *testing.T, dir string) []byte {
	t.Helper()
	read := func(name string, only ...string) source.Foreign {
		d, err := manifest.LoadDirectory(filepath.Join(dir, name), manifest.Options{Options: source.Options{Kinds: only}}, pipelinetest.Log(t))
		require.NoError(t, err)
		return source.Foreign{Cluster: name, Source: d, Refs: d.Refs()}
	}
	own, other := read("a"), read("b", "Pod", "Namespace")
	missing := source.Foreign{Cluster: "d", Source: read("none").Source, Unread: "has not been read: its pods match no policy"}
	var b bytes.Buffer
	require.NoError(t, manifest.Write(&b, own.Source, own.Refs, &manifest.ClusterSet{Own: "a", Others: []source.Foreign{other, missing}}, nil))
	return b.Bytes()
}

func clusterDirs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"a": clusterA, "b": clusterB, "c": clusterC, "none": ""} {
		writeFile(t, filepath.Join(dir, name, "all.yaml"), text)
	}
	return dir
}

func TestQuestionsAcrossClusters(t *testing.T) {
	dir := clusterDirs(t)
	files, err := offline.Load(offline.Manifests{
		Paths: []string{filepath.Join(dir, "a")}, Translator: inSet("a"), Set: true,
		Others: []offline.Other{{Name: "c", Path: filepath.Join(dir, "c")}, {Name: "b", Path: filepath.Join(dir, "b")}},
	})
	require.NoError(t, err)
	live, err := offline.Load(offline.Manifests{Paths: []string{"-"}, Stdin: bytes.NewReader(dumped(t, dir)), Live: true, Set: true})
	require.NoError(t, err)
	for _, tc := range []struct {
		name, text   string
		files, live  probe.Verdict
		egress, note string // the cluster that decides about egress, and why the verdict is unknown live
	}{
		{"both ends allow", "a/shop/web-0->b/shop/web-0:80", probe.Allow, probe.VerdictUnknown, "", "the ingress of b/shop/web-0 is decided in cluster b, whose policies were not read"},
		{"the other cluster denies", "shop/web-0->b/shop/web-0:81", probe.Deny, probe.VerdictUnknown, "", "the ingress of b/shop/web-0 is decided in cluster b, whose policies were not read"},
		{"the own cluster denies", "shop/web-0->b/shop/web-0:82", probe.Deny, probe.Deny, "", ""},
		{"from the other cluster", "b/ops/web-0->shop/db-0:1", probe.Allow, probe.VerdictUnknown, "b", ""},
		{"from a namesake", "shop/web-0->shop/db-0:80", probe.Deny, probe.Deny, "", ""},
		{"within the other cluster", "b/ops/web-0->b/shop/web-0:80", probe.Deny, probe.VerdictUnknown, "b", ""},
		{"addresses", "10.2.0.2->10.1.0.2:80", probe.Allow, probe.VerdictUnknown, "b", ""},
		{"an address of two clusters", "203.0.113.7->10.9.0.9:80", probe.Deny, probe.VerdictUnknown, "", "the ingress of 10.9.0.9 is decided in cluster b, whose policies were not read"},
		{"patterns", "b/*/web-0->shop/db-0:80", probe.Allow, probe.VerdictUnknown, "b", ""},
		{"outside to the other cluster", "203.0.113.7->pod/b/ops/web-0:80", probe.Allow, probe.VerdictUnknown, "", "the ingress of b/ops/web-0 is decided in cluster b, whose policies were not read"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			q, err := question.Parse(tc.text)
			require.NoError(t, err)
			for state, want := range map[*world.State]probe.Verdict{&files: tc.files, &live: tc.live} {
				inv := world.New(*state)
				answers, err := probe.Of(inv, q, question.Where{})
				require.NoError(t, err)
				for _, a := range answers {
					require.Equal(t, want, a.Verdict, a)
					require.Equal(t, tc.egress, a.Flows[0].Egress.Cluster)
					if state == &live && tc.note != "" {
						require.Equal(t, tc.note, a.Flows[0].Ingress.Note)
						require.Empty(t, a.Flows[0].Ingress.AllowedBy)
					}
				}
				// Expectations are judged in another way, which has to agree.
				e := probe.Expectation{From: probe.Words{q.From}, To: probe.Words{q.To}, Ports: probe.Words{q.Port}, Expect: tc.files}
				results := probe.Check(inv, &probe.Expectations{List: []probe.Expectation{e}})
				require.Equal(t, want != probe.VerdictUnknown, results.Results[0].Passed, results)
				require.Equal(t, want == probe.VerdictUnknown, results.Results[0].Error != "", results)
			}
		})
	}
	require.Equal(t, []string{"cluster d: has not been read: its pods match no policy"}, live.Doubts()[len(live.Doubts())-1:])
}

func TestNamesOfClusters(t *testing.T) {
	dir := clusterDirs(t)
	writeFile(t, filepath.Join(dir, "a", "names.yaml"), `
{apiVersion: v1, kind: Pod, metadata: {name: web-0, namespace: ns}, status: {podIP: 10.1.0.7}}
---
{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: c}, status: {podIP: 10.1.0.8}}
`)
	state, err := offline.Load(offline.Manifests{
		Paths: []string{filepath.Join(dir, "a")}, Translator: inSet("a"), Set: true,
		Others: []offline.Other{{Name: "b", Path: filepath.Join(dir, "b")}, {Name: "c", Path: filepath.Join(dir, "c")}, {Name: "deploy", Path: filepath.Join(dir, "c")}},
	})
	require.NoError(t, err)
	inv := world.New(state)
	for _, tc := range []struct{ text, from, err string }{
		{"shop/web-0->shop/db-0:80", "shop/web-0", ""},
		{"a/shop/web-0->shop/db-0:80", "shop/web-0", ""},
		{"b/shop/web-0->shop/db-0:80", "b/shop/web-0", ""},
		{"pod/b/shop/web-0->shop/db-0:80", "b/shop/web-0", ""},
		{"b/pod/shop/web-0->shop/db-0:80", "b/shop/web-0", ""},
		{"ns/web-0->shop/db-0:80", "ns/web-0", ""},
		{"c/x->shop/db-0:80", "c/x", ""},
		{"c/deploy/shop/api->shop/db-0:80", "c/shop/deploy/api", ""},
		{"deploy/c/shop/api->shop/db-0:80", "c/shop/deploy/api", ""},
		{"b/shop/web-0->b/svc/shop/web", "b/shop/web-0", ""},
		{"b/shop/web-1->shop/db-0:80", "", "from in cluster b: pod shop/web-1: not found; did you mean shop/web-0?"},
		{"x/shop/web-0->shop/db-0:80", "", `"x/shop/web-0": "x" is neither a kind nor one of the clusters a, b, c and deploy: expected NAMESPACE/NAME`},
		{"deploy/shop/web->shop/db-0:80", "", "deploy/shop/web: not found"},
		{"c/deploy/api->shop/db-0:80", "", `"c/deploy/api": c is a cluster and a namespace: write deploy/c/api for the namespace, or c/deploy/NAMESPACE/api for the cluster`},
		{"shop/db-0->b/svc/shop/web", "", "from shop/db-0 to b/svc/shop/web: a Service has connections of its own cluster only: use its pods"},
	} {
		t.Run(tc.text, func(t *testing.T) {
			q, err := question.Parse(tc.text)
			require.NoError(t, err)
			answers, err := probe.Of(inv, q, question.Where{})
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.from, answers[0].From)
		})
	}
}

func TestExplainAcrossClusters(t *testing.T) {
	dir := clusterDirs(t)
	live, err := offline.Load(offline.Manifests{Paths: []string{"-"}, Stdin: bytes.NewReader(dumped(t, dir)), Live: true, Set: true})
	require.NoError(t, err)
	inv := world.New(live)
	e, err := explain.Of(inv, "b/pod/shop/web-0", "")
	require.NoError(t, err)
	require.Equal(t, "b", e.ClusterName)
	require.Equal(t, "b/shop/web-0", e.Pod.Name)
	require.Equal(t, []world.Rule{{Policy: "a/NetworkPolicy/shop/db", Path: "spec.ingress[0]"}}, e.Pod.PeerIn)
	require.Nil(t, e.Pod.Ingress)
	require.Equal(t, "its policies are those of cluster b, which were not read", e.Pod.Note)
	e, err = explain.Of(inv, "pod/shop/db-0", "")
	require.NoError(t, err)
	require.Equal(t, []string{"b/ops/web-0", "b/shop/web-0"}, e.Pod.Ingress.Reach[0].Pods)
	require.Equal(t, []string{"b"}, e.Pod.Ingress.Undecided)
	_, err = explain.Of(inv, "b/netpol/shop/web", "")
	require.EqualError(t, err, "in cluster b: networkpolicy shop/web: not found; there is none; only its pods and namespaces were read")
}

func TestImpactAcrossClusters(t *testing.T) {
	dir := clusterDirs(t)
	opts := offline.Manifests{
		Paths: []string{filepath.Join(dir, "a")}, Translator: inSet("a"), Set: true, Others: []offline.Other{{Name: "b", Path: filepath.Join(dir, "b")}},
	}
	writeFile(t, filepath.Join(dir, "b", "other.yaml"),
		`{apiVersion: v1, kind: Pod, metadata: {name: other, namespace: shop}, status: {podIP: 10.2.0.8}}`)
	before, err := offline.Load(opts)
	require.NoError(t, err)
	writeFile(t, filepath.Join(dir, "b", "more.yaml"),
		`{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop, labels: {app: web}}, status: {podIP: 10.2.0.7}}`)
	writeFile(t, filepath.Join(dir, "a", "more.yaml"), `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: more, namespace: shop}
spec:
  podSelector: {matchLabels: {app: db}}
  ingress: [{from: [{namespaceSelector: {matchLabels: {netloom.io/cluster: b, kubernetes.io/metadata.name: shop}}}], ports: [{port: 5}]}, {}]
`)
	after, err := offline.Load(opts)
	require.NoError(t, err)
	impact := impact.Of(before, after)
	require.Equal(t, []string{"b/shop/web-1"}, impact.Appeared)
	require.Equal(t, 3, impact.Pods)
	require.Equal(t, []string{"b"}, impact.Undecided)
	require.Equal(t, []string{"b/shop/other"}, impact.Changes[0].From.Pods)
}

func TestFaultsOfAnotherCluster(t *testing.T) {
	dir := clusterDirs(t)
	writeFile(t, filepath.Join(dir, "b", "bad.yaml"), "{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: shop}, spec: 7}")
	opts := offline.Manifests{
		Paths: []string{filepath.Join(dir, "a")}, Translator: inSet("a"), Set: true, Others: []offline.Other{{Name: "b", Path: filepath.Join(dir, "b")}},
	}
	state, err := offline.Load(opts)
	require.NoError(t, err)
	require.Contains(t, state.Doubts(), "cluster b: 2 problems") // and the address that a has as well
	for _, tc := range []struct {
		name, own string
		peers     []offline.Other
		err       string
	}{
		{"no name", "", opts.Others, "--peer-manifests needs --cluster, the name of the own cluster"},
		{"the own name", "b", opts.Others, "two clusters have the name b"},
		{"no directory", "a", []offline.Other{{Name: "b", Path: filepath.Join(dir, "missing")}}, "cluster b: read manifests: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			opts.Translator, opts.Others = inSet(tc.own), tc.peers
			_, err := offline.Load(opts)
			require.ErrorContains(t, err, tc.err)
		})
	}
}

func inSet(cluster string) translator.Options {
	return translator.Options{Cluster: cluster, ClusterSet: field.LocalByDefault}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}
