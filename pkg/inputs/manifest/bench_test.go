package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// One file of a large directory changes: the others are hashed, not parsed.
func BenchmarkEditAmong10kPods(b *testing.B) {
	dir := b.TempDir()
	for f := range 100 {
		var s strings.Builder
		for p := range 100 {
			fmt.Fprintf(&s, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p-%d-%d, namespace: ns-%d, labels: {app: a%d}}\n"+
				"spec: {nodeName: n1, containers: [{name: c, ports: [{containerPort: 80}]}]}\nstatus: {podIP: 10.0.%d.%d}\n",
				f, p, f%20, p, f, p)
		}
		require.NoError(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.yaml", f)), []byte(s.String()), 0o600))
	}
	d := NewDirectory(dir, Options{}, quiet())
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			d = NewDirectory(dir, Options{}, quiet())
			require.NoError(b, d.ReadOnce())
		}
	})
	b.Run("edit", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			require.NoError(b, os.WriteFile(filepath.Join(dir, "edit.yaml"), []byte(pod("edit", fmt.Sprintf("v%d", n))), 0o600))
			require.NoError(b, d.ReadOnce())
		}
	})
}
