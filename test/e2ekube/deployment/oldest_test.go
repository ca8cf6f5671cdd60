package deployment

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// answer is that of test/oldest.
type answer struct {
	Rendered []string
	Faults   []string
}

// oldest asks test/oldest, which see.
func oldest(t *testing.T, dirs []string, objects []json.RawMessage) answer {
	t.Helper()
	program := filepath.Join(t.TempDir(), "oldest")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../../oldest", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	question, err := json.Marshal(map[string]any{"Kustomizations": dirs, "Objects": objects})
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Stdin = bytes.NewReader(question)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err = cmd.Output()
	require.NoError(t, err, stderr.String())
	var a answer
	require.NoError(t, json.Unmarshal(out, &a))
	return a
}

// requireSameByOldest renders every overlay and every component with the kustomize of kubectl 1.28. Between that and the newest were
// versions, to kustomize 5.6, that end in a panic where this one reports an error.
func requireSameByOldest(t *testing.T, all []rendering) {
	t.Helper()
	all = slices.DeleteFunc(slices.Clone(all), func(r rendering) bool { return r.dir == "" })
	var dirs []string
	for _, r := range all {
		dir, err := filepath.Abs(r.dir)
		require.NoError(t, err)
		dirs = append(dirs, dir)
	}
	rendered := oldest(t, dirs, nil).Rendered
	require.Len(t, rendered, len(all))
	for i, r := range all {
		objects, err := parse(r.name, []byte(rendered[i]))
		require.NoError(t, err)
		require.Equal(t, byName(objects), byName(r.objects), r.name)
	}
}

// byName are objects by kind, namespace and name.
func byName(objects []*unstructured.Unstructured) map[string]any {
	all := map[string]any{}
	for _, o := range objects {
		all[o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()] = o.Object
	}
	return all
}
