package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	simulator "github.com/netloom/netloom/pkg/simulator/tungsten"
	"github.com/netloom/netloom/test/await"
)

// runsUntil is what a command prints that runs until it is interrupted, by the beginning of its example.
func runsUntil() map[string]string {
	return map[string]string{
		"netloom run":     `"msg":"serving health and metrics"`,
		"netloom webhook": `"msg":"serving`,
		"netloom gateway --clusters ./clusters --tls":                     `"msg":"serving clusters"`,
		"netloom gateway --kubeconfig":                                    `"msg":"serving clusters"`,
		"netloom gateway --from-kubeconfig":                               `"msg":"serving clusters"`,
		"netloom demo --gateway\n":                                        "Press Ctrl-C to stop.",
		"netloom demo\n":                                                  "Watching.",
		"netloom demo -f":                                                 "Watching.",
		"netloom demo --clusters 2\n":                                     "Watching.",
		"netloom observe -f policies":                                     "denied",
		"netloom verify --ovn-nb unix:/var/run/ovn/ovnnb_db.sock --watch": "agree",
	}
}

// TestExamplesOfHelpRun runs every example that --help prints, in a shell, with what it names: manifests, a database, a cluster, a
// daemon. None may fail.
func TestExamplesOfHelpRun(t *testing.T) {
	s := newShell(t)
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		for _, example := range examplesOf(c) {
			t.Run(example, func(t *testing.T) { s.play(t, example) })
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRoot())
}

// examplesOf lists the examples of a command: a line each, or all together if the first runs in the background.
func examplesOf(c *cobra.Command) []string {
	if strings.Contains(c.Example, " &\n") {
		return []string{c.Example}
	}
	var out []string
	for line := range strings.Lines(c.Example) {
		line, _, _ = strings.Cut(line, "  #")
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// shell runs examples in a directory that has what they name.
type shell struct {
	t        *testing.T // of all examples
	dir, bin string
	tmp      string   // short, as the path of a socket must be
	peers    []string // what is not on this machine, and what stands for it, by turns
}

func newShell(t *testing.T) *shell {
	t.Helper()
	s := &shell{t: t, dir: t.TempDir(), bin: installed(t), tmp: t.TempDir()}
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	for _, dir := range []string{"examples", "deploy", "docs"} {
		require.NoError(t, os.Symlink(filepath.Join(repository, dir), filepath.Join(s.dir, dir)))
	}
	commands := filepath.Join(repository, "docs", "commands")
	for name, from := range map[string]string{
		"policies/clusterwide.yaml": "clusterwide.yaml", "main/policies/a.yaml": "clusterwide.yaml", "branch/policies/a.yaml": "clusterwide.yaml",
		"cluster.yaml": "foreign.yaml", "nb.json": "foreign.json",
	} {
		text, err := os.ReadFile(filepath.Join(commands, from))
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(s.dir, name)), 0o700))
		write(t, s.dir, name, string(text))
	}
	write(t, s.dir, "changed.yaml", denyDatabase)
	write(t, s.dir, "new.yaml", denyDatabase)
	write(t, s.dir, "staged.yaml", netloom(t, "stage", "-f", filepath.Join(s.dir, "new.yaml")).out)
	require.NoError(t, os.Mkdir(filepath.Join(s.dir, "tests"), 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(s.dir, "clusters"), 0o700))
	write(t, s.dir, "clusters/prod.yaml", upstreamCluster)
	write(t, s.dir, "tests/a.yaml", "apiVersion: netloom.io/v1alpha1\nkind: Expectations\nexpectations: [{from: shop/web, to: shop/db, ports: 80, expect: allow}]\n")
	writeCertificate(t, s.dir)
	s.surround(t)
	return s
}

// surround starts the peers that examples name.
func (s *shell) surround(t *testing.T) {
	t.Helper()
	examples := filepath.Join(s.dir, "examples") + "/" // a link
	require.NoError(t, os.Mkdir(filepath.Join(s.dir, ".kube"), 0o700))
	write(t, s.dir, ".kube/config", kubeconfigOf(objectsAPI(t, examples)))
	controller := simulator.New(simulator.Options{})
	t.Cleanup(controller.Close)
	url, err := controller.Start(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	daemon := running(t, examples)
	free := freePorts(t, 2)
	s.peers = []string{
		"device-sim --listen 127.0.0.1:8080", "device-sim --listen " + free[0], "http://127.0.0.1:8080/cgi", "http://" + free[0] + "/cgi",
		"tungsten-sim --listen 127.0.0.1:8082", "tungsten-sim --listen " + free[1], "curl http://127.0.0.1:8082", "curl http://" + free[1],
		"run --tungsten http://10.0.0.1:8082,http://10.0.0.2:8082", "run --kubeconfig ~/.kube/config --tungsten " + url,
		"remove --tungsten http://10.0.0.1:8082", "remove --tungsten " + url,
		"run --sdewan", "run --kubeconfig ~/.kube/config --sdewan",
		"netloom webhook --tls-secret", "netloom webhook --shutdown-delay 0s --kubeconfig ~/.kube/config --tls-secret",
		"netloom webhook --kubeconfig", "netloom webhook --shutdown-delay 0s --kubeconfig",
		"127.0.0.1:8080", daemon, "netloom approve", "netloom approve --server " + daemon,
		"/var/log/ovn/ovn-controller.log", "docs/commands/ovn-controller.log",
		"--watch --listen :8080", "--watch --listen 127.0.0.1:0",
		" &\n", " > said &\nread -r line < said\n", // once it serves
	}
	require.NoError(t, syscall.Mkfifo(filepath.Join(s.dir, "said"), 0o600))
}

// database makes the database that an example names, with the rows of the examples if it asks about them. It returns what to replace.
func (s *shell) database(t *testing.T, example string) []string {
	t.Helper()
	server := database(s.t) // its path must not have the name of the example
	for _, pod := range []string{"shop_web-1", "shop_api-0", "shop_api-1", "monitoring_prometheus-0", "kube-system_dns-0", "shop_web", "shop_db"} {
		require.NoError(t, server.AddPort("sw", pod, nil))
	}
	row := ""
	if strings.HasPrefix(example, "netloom explain row") {
		nb := []string{"--ovn-nb", server.Addr()}
		got := netloom(t, append([]string{"apply", "-f", filepath.Join(s.dir, "examples") + "/"}, nb...)...)
		require.Contains(t, []int{exitDone, exitUnprotected}, got.code, got.errout)
		got = netloom(t, append([]string{"explain", "row", "shop/db ingress[0]", "-o", "jsonpath={.items[0].uuid}"}, nb...)...)
		require.Equal(t, exitDone, got.code, got.errout)
		row = got.out[:8]
	}
	return []string{
		"0d1f8a52", row, "unix:/var/run/ovn/ovnnb_db.sock", server.Addr(),
		"tcp:10.0.0.1:6641,tcp:10.0.0.2:6641,tcp:10.0.0.3:6641", server.Addr() + " --kubeconfig ~/.kube/config", // it says: in a cluster
		"tcp:10.0.0.1:6641", server.Addr(),
	}
}

// play runs an example, and interrupts it once it has said what it says when it runs.
func (s *shell) play(t *testing.T, example string) {
	until := ""
	for begin, text := range runsUntil() {
		if strings.HasPrefix(example+"\n", begin) {
			until = text
		}
	}
	line := strings.NewReplacer(append(s.database(t, example), s.peers...)...).Replace(example)
	if strings.HasPrefix(example, "netloom run") {
		line += " --listen 127.0.0.1:0 --debug-listen="
	}
	if strings.HasPrefix(example, "netloom gateway --") {
		line += " --listen 127.0.0.1:0 --metrics-listen= --shutdown-delay 0s"
	}
	cmd := exec.CommandContext(await.Context(t), "sh", "-c", line)
	cmd.Dir = s.dir
	cmd.Env = []string{"HOME=" + s.dir, "PATH=" + s.bin + ":" + os.Getenv("PATH"), "TMPDIR=" + s.tmp}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	seen := &awaited{text: until, interrupt: func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }}
	cmd.Stdout, cmd.Stderr = seen, seen
	require.NoError(t, cmd.Start())
	defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }() // what runs in the background
	if strings.Contains(line, " &\n") {
		state, err := cmd.Process.Wait() // and not for the background, which keeps the streams open
		require.NoError(t, err)
		require.True(t, state.Success(), seen)
		return
	}
	_ = cmd.Wait() // its code is judged
	code := cmd.ProcessState.ExitCode()
	switch {
	case until != "":
		require.Contains(t, seen.String(), until)
		require.NotEqual(t, exitFailed, code, seen.String())
	case strings.Contains(example, "approve 5e0f1c22ab90"): // nothing is missing
		require.Contains(t, seen.String(), "409 Conflict")
	default:
		require.Contains(t, []int{exitDone, exitDiffers}, code, "%s\n%s", line, seen)
	}
}

// awaited collects output, and interrupts once when it contains a text.
type awaited struct {
	mu        sync.Mutex
	all       strings.Builder
	text      string
	interrupt func()
}

func (a *awaited) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = a.all.Write(b)
	if a.text != "" && a.interrupt != nil && strings.Contains(a.all.String(), a.text) {
		a.interrupt()
		a.interrupt = nil
	}
	return len(b), nil
}

func (a *awaited) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all.String()
}

// objectsAPI serves the objects of manifests as a Kubernetes API: lists of them, and watches in which nothing happens.
func objectsAPI(t *testing.T, dir string) string {
	t.Helper()
	byResource, kinds := map[string][]any{}, map[string]string{
		"pods": "Pod", "namespaces": "Namespace", "nodes": "Node", "services": "Service", "endpoints": "Endpoints", "endpointslices": "EndpointSlice",
		"networkpolicies": "NetworkPolicy",
	}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for document := range strings.SplitSeq(string(text), "\n---") {
			var o map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(document), &o))
			kind, _ := o["kind"].(string)
			resource := strings.Replace(strings.ToLower(kind)+"s", "policys", "policies", 1)
			byResource[resource], kinds[resource] = append(byResource[resource], o), kind
		}
		return nil
	}))
	closed := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resource := path.Base(r.URL.Path)
		switch {
		case r.Method != http.MethodGet || strings.Contains(r.URL.Path, "policy.networking.k8s.io"),
			strings.Contains(r.URL.Path, "k8s.ovn.org") && byResource[resource] == nil: // no such CRD
			http.NotFound(w, r)
		case r.URL.Query().Has("sendInitialEvents"):
			http.Error(w, "this server does not stream lists", http.StatusBadRequest)
		case r.URL.Query().Get("watch") != "":
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-closed:
			}
		default:
			version := strings.TrimPrefix(strings.TrimPrefix(path.Dir(r.URL.Path), "/apis/"), "/api/")
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{
				"kind": kinds[resource] + "List", "apiVersion": version, "metadata": map[string]any{"resourceVersion": "1"}, "items": append([]any{}, byResource[resource]...),
			})
		}
	}))
	t.Cleanup(func() { close(closed); server.Close() })
	return server.URL
}

// kubeconfigOf is a kubeconfig file for an API.
func kubeconfigOf(url string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, url)
}

// writeCertificate writes tls.crt and tls.key.
func writeCertificate(t *testing.T, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"netloom"}}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	write(t, dir, "tls.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})))
	write(t, dir, "tls.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
}

// freePorts are addresses on which nothing listens.
func freePorts(t *testing.T, n int) []string {
	t.Helper()
	var out []string
	for range n {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { _ = l.Close() }()
		out = append(out, l.Addr().String())
	}
	return out
}
