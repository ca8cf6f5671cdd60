package crds_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/apis/crdschema"
	"github.com/netloom/netloom/test/crds"
	"github.com/netloom/netloom/test/seeds"
)

// definitions are the CRDs as netloom itself reads them.
func definitions(t *testing.T) map[string]*crdschema.Definition {
	t.Helper()
	files, err := filepath.Glob("../../deploy/crds/*.yaml")
	require.NoError(t, err)
	all := map[string]*crdschema.Definition{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		d, err := crdschema.Parse(text)
		require.NoError(t, err, f)
		all[d.Kind] = d
	}
	return all
}

// faultyFields are the fields that faults are about, each once.
func faultyFields(faults []string) []string {
	var all []string
	for _, f := range faults {
		path, _, _ := strings.Cut(f, ": ")
		if strings.HasPrefix(path, "spec") { // "<nil>" repeats another fault
			all = append(all, path)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// requireAgreement requires an API server's code and netloom's to find faults with the same fields of o.
func requireAgreement(t *testing.T, server map[string]*crds.Definition, ours map[string]*crdschema.Definition, o map[string]any) {
	t.Helper()
	kind, _ := o["kind"].(string)
	text, err := yaml.Marshal(o)
	require.NoError(t, err)
	var got []string
	for _, f := range ours[kind].Validate(runtime.DeepCopyJSON(o)) {
		got = append(got, f.Error())
	}
	want := admit(t, server, runtime.DeepCopyJSON(o))
	require.Equal(t, faultyFields(want), faultyFields(got), "server: %s\nnetloom: %s\n%s", want, got, text)
}

// TestNetloomMatchesAServer compares netloom's validation of the schemas with an API server's, for samples and mistakes.
func TestNetloomMatchesAServer(t *testing.T) {
	server, ours := loadAll(t), definitions(t)
	require.Len(t, ours, len(server))
	files, err := filepath.Glob(samples + "/*.yaml")
	require.NoError(t, err)
	for _, f := range files {
		requireAgreement(t, server, ours, sample(t, strings.TrimSuffix(filepath.Base(f), ".yaml")))
	}
	for _, m := range mistakes() {
		t.Run(m.name, func(t *testing.T) { requireAgreement(t, server, ours, changed(t, m.sample, m.spec)) })
	}
}

// TestNetloomMatchesAServerOnAnything does so for samples with random fields.
func TestNetloomMatchesAServerOnAnything(t *testing.T) {
	seeds.Each(t, "crds", func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		server, ours := loadAll(t), definitions(t)
		files, err := filepath.Glob(samples + "/*.yaml")
		require.NoError(t, err)
		values := []any{
			"", "a", "A_b", "10.0.0.1", "10.0.0.1/33", "!10.0.0.0/8", "80", "65536", "0x10/0xff", "#default", "#source", "DNAT", "SNAT",
			"MARK", "Hub", "Device", "psk", "pubkey", "icmp", "1", "x\ny", "VTI-based", "aes256", strings.Repeat("a", 300), "é",
			int64(0), int64(7), int64(100000), 1.5, true,
			[]any{},
			[]any{"a", "a"},
			[]any{int64(1)},
			map[string]any{},
			map[string]any{"name": "a"},
			map[string]any{"name": "A"},
			nil,
		}
		for range 1000 {
			o := sample(t, strings.TrimSuffix(filepath.Base(files[random.IntN(len(files))]), ".yaml"))
			kind, _ := o["kind"].(string)
			spec, _ := o["spec"].(map[string]any)
			if spec == nil {
				continue
			}
			known := server[kind].Text.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
			var names []string
			for name := range known {
				names = append(names, name)
			}
			slices.Sort(names)
			for range 1 + random.IntN(3) {
				if len(names) == 0 {
					break
				}
				name := names[random.IntN(len(names))]
				value := runtime.DeepCopyJSONValue(values[random.IntN(len(values))])
				if list, ok := spec[name].([]any); ok && len(list) > 0 && random.IntN(2) == 0 {
					mutateItem(random, list, value)
					continue
				}
				spec[name] = value
			}
			requireAgreement(t, server, ours, o)
		}
	})
}

// mutateItem puts a value into an item of a list, or in its place.
func mutateItem(random *rand.Rand, list []any, value any) {
	item, ok := list[0].(map[string]any)
	if !ok || len(item) == 0 || random.IntN(4) == 0 {
		list[0] = value
		return
	}
	var names []string
	for name := range item {
		names = append(names, name)
	}
	slices.Sort(names)
	item[names[random.IntN(len(names))]] = value
}
