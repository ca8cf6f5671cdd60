//go:build e2e

package kubelab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// Ranges of cluster IPs.
const (
	ServiceRange4 = "10.96.0.0/16"
	ServiceRange6 = "fd00:96::/112"
)

// auditPolicy logs one line for each request, without its body. Requests that components make on their own, such as those
// of the controllers, are included.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
`

// Options configure what differs from a current cluster.
type Options struct {
	Program  string   // built by `make kubeapi`
	Features []string // feature gates of the API server, such as WatchList=false
	APIFlags []string // further flags of the API server and of its replicas
}

// Lab is a control plane. Its methods fail the test on any error, so they belong to the test's own goroutine.
type Lab struct {
	tb       testing.TB
	opts     Options
	dir      string
	etcdPort int
	peerPort int
	port     int
	etcd     *ovnlab.Process
	api      *ovnlab.Process
	manager  *ovnlab.Process
	client   kubernetes.Interface
	objects  dynamic.Interface
	mapper   *restmapper.DeferredDiscoveryRESTMapper
	starts   []start
}

// start is a period in which the API server was starting.
type start struct{ began, ready time.Time }

// Start starts a control plane without objects, except for those that it makes itself.
func Start(tb testing.TB, opts Options) *Lab {
	tb.Helper()
	if _, err := os.Stat(opts.Program); err != nil {
		tb.Fatalf("kube-apiserver: %v; `make kubeapi` builds it", err)
	}
	l := &Lab{tb: tb, opts: opts, dir: tb.TempDir()}
	l.etcdPort, l.peerPort, l.port = ovnlab.FreePort(tb), ovnlab.FreePort(tb), ovnlab.FreePort(tb)
	if err := makeFiles(l.dir); err != nil {
		tb.Fatal(err)
	}
	l.write("audit.yaml", auditPolicy)
	l.etcd = l.spawn("etcd", l.etcdFlags()...)
	l.StartAPI()
	l.manager = l.spawn("kube-controller-manager", l.managerFlags()...)
	l.connect()
	return l
}

// StartAPI starts the API server, also again after StopAPI or KillAPI, and waits until it is ready.
func (l *Lab) StartAPI() {
	l.tb.Helper()
	began := time.Now()
	l.api = l.startAPI(l.port, "")
	l.starts = append(l.starts, start{began, time.Now()})
}

// startAPI starts an API server on a port, and waits until it is ready. The names of its logs end with suffix.
func (l *Lab) startAPI(port int, suffix string) *ovnlab.Process {
	l.tb.Helper()
	process := ovnlab.Spawn(l.tb, l.path("kube-apiserver"+suffix+".log"), os.Environ(), append([]string{l.opts.Program, "kube-apiserver"}, l.apiFlags(port, suffix)...)...)
	config := l.Config()
	config.Host = fmt.Sprintf("https://127.0.0.1:%d", port)
	config.Timeout = time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		l.tb.Fatal(err)
	}
	await.True(l.tb, func() bool {
		select {
		case <-process.Exited():
			l.tb.Fatalf("kube-apiserver exited with code %d", process.ExitCode())
		default:
		}
		_, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(l.tb.Context())
		return err == nil
	}, "kube-apiserver is ready")
	return process
}

// Replica is another API server of the same cluster.
type Replica struct {
	*ovnlab.Process
	lab  *Lab
	port int
}

// StartReplica starts another API server on the same database, and waits until it is ready.
func (l *Lab) StartReplica() *Replica {
	l.tb.Helper()
	r := &Replica{lab: l, port: ovnlab.FreePort(l.tb)}
	r.Start()
	return r
}

// Start starts the replica again after it has ended.
func (r *Replica) Start() {
	r.lab.tb.Helper()
	r.Process = r.lab.startAPI(r.port, "-replica")
}

// Host is its address, as in rest.Config.
func (r *Replica) Host() string { return fmt.Sprintf("https://127.0.0.1:%d", r.port) }

// KillAPI sends SIGKILL to the API server. Its objects are in etcd.
func (l *Lab) KillAPI() { l.api.Kill() }

// PauseAPI makes the API server accept connections and answer nothing until resume is called.
func (l *Lab) PauseAPI() (resume func()) {
	l.tb.Helper()
	return l.pause(l.api)
}

func (l *Lab) pause(p *ovnlab.Process) (resume func()) {
	l.tb.Helper()
	l.signal(p, syscall.SIGSTOP)
	return func() { l.signal(p, syscall.SIGCONT) }
}

func (l *Lab) signal(p *ovnlab.Process, sig os.Signal) {
	l.tb.Helper()
	if err := p.Signal(sig); err != nil {
		l.tb.Fatal(err)
	}
}

func (l *Lab) path(name string) string { return filepath.Join(l.dir, name) }

func (l *Lab) write(name, content string) {
	l.tb.Helper()
	if err := os.WriteFile(l.path(name), []byte(content), 0o600); err != nil {
		l.tb.Fatal(err)
	}
}

func (l *Lab) spawn(program string, flags ...string) *ovnlab.Process {
	l.tb.Helper()
	return ovnlab.Spawn(l.tb, l.path(program+".log"), os.Environ(), append([]string{l.opts.Program, program}, flags...)...)
}

func (l *Lab) etcdFlags() []string {
	client, peer := fmt.Sprintf("https://127.0.0.1:%d", l.etcdPort), fmt.Sprintf("http://127.0.0.1:%d", l.peerPort)
	return []string{
		"--data-dir=" + l.path("etcd"), "--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
		"--cert-file=" + l.path("etcd.crt"), "--key-file=" + l.path("etcd.key"),
		"--trusted-ca-file=" + l.path("ca.crt"), "--client-cert-auth",
		"--unsafe-no-fsync", "--log-level=warn",
	}
}

func (l *Lab) apiFlags(port int, suffix string) []string {
	flags := []string{
		fmt.Sprintf("--etcd-servers=https://127.0.0.1:%d", l.etcdPort), "--etcd-cafile=" + l.path("ca.crt"),
		"--etcd-certfile=" + l.path("etcd.crt"), "--etcd-keyfile=" + l.path("etcd.key"),
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
		"--tls-cert-file=" + l.path("server.crt"), "--tls-private-key-file=" + l.path("server.key"),
		"--client-ca-file=" + l.path("ca.crt"), "--kubelet-certificate-authority=" + l.path("ca.crt"),
		"--kubelet-client-certificate=" + l.path("kubelet-client.crt"), "--kubelet-client-key=" + l.path("kubelet-client.key"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + l.path("sa.key"),
		"--service-account-signing-key-file=" + l.path("sa.key"),
		"--service-cluster-ip-range=" + ServiceRange4 + "," + ServiceRange6,
		"--authorization-mode=RBAC", "--allow-privileged=true",
		"--audit-policy-file=" + l.path("audit.yaml"), "--audit-log-path=" + l.path("audit"+suffix+".log"),
	}
	if len(l.opts.Features) > 0 {
		flags = append(flags, "--feature-gates="+strings.Join(l.opts.Features, ","))
	}
	return append(flags, l.opts.APIFlags...)
}

// controllers are those that work in a cluster without nodes. Others would consider the nodes dead and evict their pods.
var controllers = []string{
	"namespace-controller", "serviceaccount-controller", "root-ca-certificate-publisher-controller",
	"endpointslice-controller", "garbage-collector-controller", "deployment-controller", "replicaset-controller",
	"daemonset-controller", "disruption-controller",
}

func (l *Lab) managerFlags() []string {
	return []string{
		"--kubeconfig=" + l.kubeconfig("manager"), "--use-service-account-credentials=true", "--leader-elect=false",
		"--secure-port=0", "--service-account-private-key-file=" + l.path("sa.key"), "--root-ca-file=" + l.path("ca.crt"),
		"--kube-api-qps=500", "--kube-api-burst=1000", "--controllers=" + strings.Join(controllers, ","),
	}
}

// Port is the port of the API server.
func (l *Lab) Port() int { return l.port }

// Config is a client configuration with administrator permissions. It has the certificate itself: client-go reads a file of one again and
// again, also when the test that it belonged to is over.
func (l *Lab) Config() *rest.Config {
	l.tb.Helper()
	read := func(name string) []byte {
		content, err := os.ReadFile(l.path(name))
		if err != nil {
			l.tb.Fatal(err)
		}
		return content
	}
	return &rest.Config{
		Host: fmt.Sprintf("https://127.0.0.1:%d", l.port), QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{
			CAFile: l.path("ca.crt"), CertData: read("admin.crt"), KeyData: read("admin.key"),
		},
	}
}
