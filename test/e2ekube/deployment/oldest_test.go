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

// oldest renders kustomizations with test/oldest, which see.
func oldest(t *testing.T, dirs []string) (rendered []string) {
	t.Helper()
	program := build(t, "oldest", "../../oldest")
	ask(t, program, dirs, &rendered)
	return rendered
}

// build builds the program of another module.
func build(t *testing.T, name, dir string, flags ...string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), name)
	args := append([]string{"build", "-C", dir, "-o", program}, flags...)
	out, err := exec.CommandContext(t.Context(), "go", append(args, ".")...).CombinedOutput()
	require.NoError(t, err, string(out))
	return program
}

// ask sends a question to a program, and reads its answer.
func ask(t *testing.T, program string, question, answer any) {
	t.Helper()
	text, err := json.Marshal(question)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Stdin = bytes.NewReader(text)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	require.NoError(t, json.Unmarshal(out, answer))
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
	rendered := oldest(t, dirs)
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
