package translator_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden translates testdata/<case>/in.yaml and compares with want.txt: the policies and the content of their sets, the
// nodes, the load balancers, the CNFs and their intents, then what could not be translated. The objects come in the
// order written and in the opposite one.
func TestGolden(t *testing.T) {
	cases, err := filepath.Glob("testdata/*/in.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, in := range cases {
		dir := filepath.Dir(in)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			objects := load(t, in)
			got := translate(t, objects)
			slices.Reverse(objects)
			require.Equal(t, got, translate(t, objects), "the order shows")
			want := filepath.Join(dir, "want.txt")
			if *update {
				require.NoError(t, os.WriteFile(want, []byte(got), 0o600))
			}
			text, err := os.ReadFile(want)
			require.NoError(t, err)
			require.Equal(t, string(text), got, "rewrite with -update")
		})
	}
}

// load reads the objects of a file of YAML documents.
func load(t testing.TB, path string) []any {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var objects []any
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		objects = append(objects, parse(t, doc))
	}
	return objects
}

// parse reads one object, strictly.
func parse(t testing.TB, doc string) any {
	t.Helper()
	var is metav1.TypeMeta
	require.NoError(t, yaml.Unmarshal([]byte(doc), &is), doc)
	var o any
	switch is.Kind {
	case object.KindPod:
		o = &corev1.Pod{}
	case object.KindNamespace:
		o = &corev1.Namespace{}
	case object.KindNode:
		o = &corev1.Node{}
	case object.KindNetworkPolicy:
		o = &networkingv1.NetworkPolicy{}
	case object.KindService:
		o = &corev1.Service{}
	case object.KindEndpointSlice:
		o = &discoveryv1.EndpointSlice{}
	default:
		scheme := runtime.NewScheme()
		require.NoError(t, v1alpha1.AddToScheme(scheme))
		sdwan, err := scheme.New(v1alpha1.GroupVersion.WithKind(is.Kind))
		require.NoError(t, err)
		o = sdwan
	}
	require.NoError(t, yaml.UnmarshalStrict([]byte(doc), o), doc)
	return o
}

func translate(t testing.TB, objects []any) string {
	t.Helper()
	tr := translator.New(translator.Options{})
	for _, o := range objects {
		require.NoError(t, tr.Put(o))
	}
	s := tr.Snapshot()
	var b strings.Builder
	b.WriteString(snapshotText(s))
	for _, p := range tr.Problems() {
		fmt.Fprintf(&b, "problem %s\n", p.Error())
	}
	return b.String()
}

// snapshotText formats the whole content of a snapshot.
func snapshotText(s *intent.Snapshot) string {
	var b strings.Builder
	for p := range s.Policies() {
		b.WriteString(policyText(s, p))
	}
	var sets []string
	for set := range s.Sets() {
		sets = append(sets, setText(set))
	}
	slices.Sort(sets)
	b.WriteString(strings.Join(sets, ""))
	for n := range s.Nodes() {
		b.WriteString(nodeText(n))
	}
	for lb := range s.LoadBalancers() {
		b.WriteString(balancerText(lb))
	}
	for g := range s.CNFs() {
		b.WriteString(cnfText(g))
	}
	for e := range s.DeviceIntents() {
		b.WriteString(deviceText(e))
	}
	return b.String()
}

// policyText formats a policy with the titles of its sets instead of their IDs.
func policyText(s *intent.Snapshot, p *intent.Policy) string {
	title := func(id intent.SetID) string { return "[" + s.Set(id).Title + "]" }
	var b strings.Builder
	fmt.Fprintf(&b, "policy %s of %s", p.ID, title(p.Subject))
	if p.Isolates {
		b.WriteString(", isolates")
	}
	if p.CNFs != (intent.Scope{}) {
		fmt.Fprintf(&b, ", at %s", p.CNFs)
	}
	if p.Log != (intent.Logging{}) {
		fmt.Fprintf(&b, ", logs allow=%q deny=%q rate=%d", p.Log.Allow, p.Log.Deny, p.Log.Rate)
	}
	b.WriteString("\n")
	for _, r := range p.Rules {
		peer := map[intent.PeerKind]string{intent.PeerNone: "nobody", intent.PeerAny: "anyone"}[r.Peer.Kind]
		if r.Peer.Kind == intent.PeerSet {
			peer = title(r.Peer.Set)
		}
		fmt.Fprintf(&b, "  %s %s %s, %s", r.Path, r.Action, peer, strings.Join(r.Ports.Strings(), " "))
		if r.Subject != "" {
			fmt.Fprintf(&b, ", only for %s", title(r.Subject))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func setText(set *intent.Set) string {
	var b strings.Builder
	fmt.Fprintf(&b, "set [%s]\n", set.Title)
	var members []string
	if set.Members != nil {
		for e := range set.Members.All() {
			members = append(members, e.Key.String())
		}
	}
	slices.Sort(members)
	for _, line := range []struct{ what, list string }{
		{"pods", strings.Join(members, " ")},
		{"addresses", join(set.Addrs())},
		{"prefixes", join(set.Prefixes)},
		{"within", join(set.Within)},
	} {
		if line.list != "" {
			fmt.Fprintf(&b, "  %s: %s\n", line.what, line.list)
		}
	}
	return b.String()
}

func join[T fmt.Stringer](list []T) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = v.String()
	}
	return strings.Join(parts, " ")
}
