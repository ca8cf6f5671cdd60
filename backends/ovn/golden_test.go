package ovn_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/backends/ovn/ovntest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/translator"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden brings testdata/<case>/in.yaml to an empty database of an older and of a newer schema and compares the rows
// that are made with want.rows and want.newer.rows. Sets go by their titles, not by the hashes that name them.
func TestGolden(t *testing.T) {
	cases, err := filepath.Glob("testdata/*/in.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, in := range cases {
		dir := filepath.Dir(in)
		for file, nb := range map[string][]byte{"want.rows": schema.NB2303(), "want.newer.rows": schema.NB2503()} {
			t.Run(filepath.Base(dir)+"/"+file, func(t *testing.T) {
				target := ovntest.New(t, nb)
				snap := translated(t, in)
				for set := range snap.Sets() {
					if set.Members != nil {
						target.Prepare(t, slices.SortedFunc(set.Members.All(), byKey), nil)
					}
				}
				p, err := target.Open(t, "netloom").Plan(t.Context(), snap, 0)
				require.NoError(t, err)
				got := rowsText(p)
				want := filepath.Join(dir, file)
				if *update {
					require.NoError(t, os.WriteFile(want, []byte(got), 0o600))
				}
				text, err := os.ReadFile(want)
				require.NoError(t, err)
				require.Equal(t, string(text), got, "rewrite with -update")
			})
		}
	}
}

func byKey(a, b intent.Endpoint) int { return a.Key.Compare(b.Key) }

// translated is the snapshot of a file of YAML documents.
func translated(t *testing.T, path string) *intent.Snapshot {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	tr := translator.New(translator.Options{})
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		var is metav1.TypeMeta
		require.NoError(t, yaml.Unmarshal([]byte(doc), &is))
		object := map[string]any{
			object.KindPod: &corev1.Pod{}, object.KindNamespace: &corev1.Namespace{},
			object.KindNode: &corev1.Node{}, object.KindNetworkPolicy: &networkingv1.NetworkPolicy{},
			object.KindService: &corev1.Service{}, object.KindEndpointSlice: &discoveryv1.EndpointSlice{},
		}[is.Kind]
		require.NotNil(t, object, doc)
		require.NoError(t, yaml.UnmarshalStrict([]byte(doc), object))
		require.NoError(t, tr.Put(object))
	}
	snap := tr.Snapshot()
	require.Empty(t, tr.Problems())
	return snap
}

// rowsText formats the rows that a plan makes.
func rowsText(p *backends.Plan) string {
	titles := map[string]string{}
	for i := range p.Ops {
		op := &p.Ops[i]
		if ids, _ := op.After["external_ids"].(map[string]string); op.Kind != "ACL" && ids != nil {
			title := cmp.Or(ids[ovn.KeyTitle], ids[ovn.KeyID])
			for _, family := range []string{"v4", "v6"} {
				if op.Kind == "Address_Set" && strings.HasSuffix(op.Name, "_"+family) {
					title += "/" + family
				}
			}
			titles[op.Name] = "{" + title + "}"
		}
	}
	var lines []string
	for i := range p.Ops {
		lines = append(lines, rowText(&p.Ops[i], titles))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

var uuids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

func rowText(op *backends.Op, titles map[string]string) string {
	line := func(columns ...string) string {
		var parts []string
		for _, c := range columns {
			if v, ok := op.After[c]; ok && fmt.Sprint(v) != "" && fmt.Sprint(v) != "map[]" {
				parts = append(parts, fmt.Sprintf("%s=%v", c, v))
			}
		}
		return strings.Join(parts, " ")
	}
	var text string
	switch op.Kind {
	case "ACL":
		text = fmt.Sprintf("%-10v %v %v\n    %v\n", op.After["direction"], op.After["priority"], op.After["action"], op.After["match"])
		text += fmt.Sprintf("    name=%q %s\n", op.After["name"], line("tier", "options", "log", "severity", "meter"))
		ids, _ := op.After["external_ids"].(map[string]string)
		for _, k := range slices.Sorted(maps.Keys(ids)) {
			if k != ovn.KeyID && k != ovn.KeyOwner {
				text += fmt.Sprintf("    %s=%s\n", k, ids[k])
			}
		}
	case "Port_Group":
		ports, _ := op.After["ports"].([]string)
		acls, _ := op.After["acls"].([]string)
		text = fmt.Sprintf("%s\n    %d ports, %d ACLs\n", op.Name, len(ports), len(acls))
	default:
		if ids, _ := op.After["external_ids"].(map[string]string); strings.HasPrefix(ids[ovn.KeyID], "policies/") {
			text = op.Name + "\n"
			for _, k := range slices.Sorted(maps.Keys(ids)) {
				if !strings.HasPrefix(k, "netloom.io/") {
					text += fmt.Sprintf("    %s: %s\n", k, uuids.ReplaceAllString(ids[k], "ACL"))
				}
			}
			break
		}
		text = fmt.Sprintf("%s\n    %s\n", op.Name, line("addresses", "unit", "fair", "rate", "burst_size", "action"))
	}
	for name, title := range titles {
		text = strings.ReplaceAll(text, name, title)
	}
	return op.Kind + " " + strings.TrimSuffix(text, "\n")
}
