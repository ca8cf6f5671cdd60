//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

var netloomFlag = flag.String("netloom", "", "test this binary instead of building one")

// buildOnce is the binary under test and the directory to remove afterwards.
var buildOnce = sync.OnceValues(func() (string, error) {
	if *netloomFlag != "" {
		return filepath.Abs(*netloomFlag)
	}
	bin := filepath.Join(os.TempDir(), fmt.Sprintf("netloom-e2e-%d", os.Getpid()))
	out, err := exec.CommandContext(context.Background(), "go", "build", "-tags", "kustomize_disable_go_plugin_support", "-o", bin, "../../cmd/netloom").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build netloom: %w\n%s", err, out)
	}
	return bin, nil
})

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if bin, err := buildOnce(); err == nil && *netloomFlag == "" {
		_ = os.Remove(bin)
	}
	os.Exit(code)
}

func binary(tb testing.TB) string {
	tb.Helper()
	bin, err := buildOnce()
	require.NoError(tb, err)
	return bin
}

// Exit codes of netloom apply.
const (
	inSync   = 0
	problems = 3
	differs  = 2
)

// apply runs netloom apply to its end.
func apply(tb testing.TB, dir, nb string, more ...string) (code int, output string) {
	tb.Helper()
	program := binary(tb) // the first caller builds it, which takes as long as it takes
	ctx := await.Context(tb)
	args := append([]string{"apply", "--manifests", dir, "--ovn-nb", nb}, more...)
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(tb, err)
	}
	if exit != nil {
		return exit.ExitCode(), string(out)
	}
	return 0, string(out)
}

// mustApply brings the database in sync with dir.
func mustApply(tb testing.TB, dir, nb string, more ...string) {
	tb.Helper()
	code, out := apply(tb, dir, nb, more...)
	require.Equal(tb, inSync, code, "netloom apply:\n%s", out)
}

// isInSync reports whether the database is in sync with dir.
func isInSync(tb testing.TB, dir, nb string) bool {
	tb.Helper()
	code, _ := apply(tb, dir, nb, "--dry-run")
	return code == inSync
}

// start runs the daemon and waits until it is ready.
func start(tb testing.TB, dir, nb string) *ovnlab.Process {
	tb.Helper()
	p, _ := startWith(tb, dir, nb)
	return p
}

// startWith does so with more flags, and says on which address the daemon listens.
func startWith(tb testing.TB, dir, nb string, more ...string) (p *ovnlab.Process, listen string) {
	tb.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	listen = l.Addr().String()
	require.NoError(tb, l.Close())
	args := append([]string{binary(tb), "run", "--manifests", dir, "--ovn-nb", nb, "--listen", listen, "--debug-listen="}, more...)
	p = ovnlab.Spawn(tb, filepath.Join(tb.TempDir(), "netloom.log"), os.Environ(), args...)
	await.True(tb, func() bool {
		select {
		case <-p.Exited():
			require.FailNow(tb, "netloom run exited", "code %d:\n%s", p.ExitCode(), p.Tail(30))
		default:
		}
		return ready(tb.Context(), listen)
	}, "netloom run is ready")
	return p, listen
}

func ready(ctx context.Context, listen string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+listen+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// running fails the test when the daemon is gone.
func running(tb testing.TB, p *ovnlab.Process) {
	tb.Helper()
	select {
	case <-p.Exited():
		require.FailNow(tb, "netloom exited", "code %d:\n%s", p.ExitCode(), p.Tail(30))
	default:
	}
}

// put writes a manifest as editors do: to another name first, then over the old one.
func put(tb testing.TB, dir, name, content string) {
	tb.Helper()
	tmp := filepath.Join(dir, "."+name+".tmp")
	require.NoError(tb, os.WriteFile(tmp, []byte(strings.TrimSpace(content)+"\n"), 0o600))
	require.NoError(tb, os.Rename(tmp, filepath.Join(dir, name)))
}
