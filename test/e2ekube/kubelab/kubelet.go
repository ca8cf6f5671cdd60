//go:build e2e

package kubelab

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"

	"github.com/netloom/netloom/test/await"
)

// How long a client may be silent, and how long it may take to open the streams of a request.
const (
	streamIdle     = time.Hour
	streamCreation = 30 * time.Second
)

// Kubelet is one node, and serves exec, attach and port-forward for its pods with the library of container runtimes. It
// starts no containers.
type Kubelet struct {
	lab  *Lab
	node string

	mu         sync.Mutex
	containers map[string]Container // by namespace/name of the pod
}

// Container is what the clients of a pod are connected to.
type Container struct {
	// Run stands for a command in the container, or without a command for its main process, and returns the exit code. If it
	// is nil, exec and attach fail.
	Run func(ctx context.Context, command []string, terminal Terminal) int
	// Ports are the addresses where the ports of the container are served.
	Ports map[int32]string
	// Log is what the container has written. Follow is what it writes while one client follows its log; it ends when it is closed.
	Log    string
	Follow <-chan string
}

// Terminal is the client of a process. Fields that the client does not use are nil.
type Terminal struct {
	In     io.Reader
	Out    io.Writer
	Err    io.Writer
	Resize <-chan remotecommand.TerminalSize
}

// StartKubelet adds a node whose kubelet serves until the test ends.
func (l *Lab) StartKubelet(node string) *Kubelet {
	l.tb.Helper()
	k := &Kubelet{lab: l, node: node, containers: map[string]Container{}}
	pair, err := tls.LoadX509KeyPair(l.path("kubelet.crt"), l.path("kubelet.key"))
	if err != nil {
		l.tb.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(l.authorityCertificate())
	listener, err := new(net.ListenConfig).Listen(context.WithoutCancel(l.tb.Context()), "tcp", "127.0.0.1:0")
	if err != nil {
		l.tb.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", k.exec)
	mux.HandleFunc("/attach/{namespace}/{pod}/{container}", k.attach)
	mux.HandleFunc("/portForward/{namespace}/{pod}", k.portForward)
	mux.HandleFunc("/containerLogs/{namespace}/{pod}/{container}", k.logs)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: streamCreation, TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients, MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"}, // protocols are switched
	}}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.ServeTLS(listener, "", "")
	}()
	l.tb.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	k.register(listener.Addr().(*net.TCPAddr).Port)
	return k
}

// register adds the node.
func (k *Kubelet) register(port int) {
	k.lab.tb.Helper()
	k.lab.Apply("{apiVersion: v1, kind: Node, metadata: {name: " + k.node + "}}")
	k.lab.Status(fmt.Sprintf(`{apiVersion: v1, kind: Node, metadata: {name: %s}, status: {
  addresses: [{type: InternalIP, address: 127.0.0.1}], daemonEndpoints: {kubeletEndpoint: {Port: %d}}}}`, k.node, port))
}

// Adopt binds a pod to the node unless it is bound to one, and reports that it runs.
func (k *Kubelet) Adopt(pod *corev1.Pod, as Container) {
	k.lab.tb.Helper()
	k.mu.Lock()
	k.containers[pod.Namespace+"/"+pod.Name] = as
	k.mu.Unlock()
	ctx, pods := k.lab.tb.Context(), k.lab.client.CoreV1().Pods(pod.Namespace)
	err := pods.Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: k.node},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsConflict(err) {
		k.lab.tb.Fatal(err)
	}
	k.lab.Status(fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: %s}, status: {
  phase: Running, conditions: [{type: Ready, status: "True"}]}}`, pod.Name, pod.Namespace))
}

// AdoptRun adopts a pod that a controller has made as the one that runs in its place, with its port for debugging.
func (k *Kubelet) AdoptRun(run *Pod, namespace string, selector *metav1.LabelSelector) {
	k.lab.tb.Helper()
	var made *corev1.PodList
	await.True(k.lab.tb, func() bool {
		var err error
		made, err = k.lab.client.CoreV1().Pods(namespace).List(k.lab.tb.Context(), metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(selector)})
		return err == nil && len(made.Items) > 0
	}, "the controller has made a pod")
	as := Container{Ports: map[int32]string{}}
	for _, port := range run.container.Ports {
		if port.Name == "debug" {
			as.Ports[port.ContainerPort] = run.debug
		}
	}
	k.Adopt(&made.Items[0], as)
}

func (k *Kubelet) exec(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeExec(w, r, k, podOf(r), "", r.PathValue("container"), r.URL.Query()["command"], options, streamIdle, streamCreation,
		remotecommand.SupportedStreamingProtocols)
}

func (k *Kubelet) attach(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeAttach(w, r, k, podOf(r), "", r.PathValue("container"), options, streamIdle, streamCreation,
		remotecommand.SupportedStreamingProtocols)
}

func (k *Kubelet) portForward(w http.ResponseWriter, r *http.Request) {
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, k, podOf(r), "", options, streamIdle, streamCreation, portforward.SupportedProtocols)
}

// logs writes the log of a container, and follows it for those who ask.
func (k *Kubelet) logs(w http.ResponseWriter, r *http.Request) {
	as := k.container(podOf(r))
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, as.Log)
	if r.URL.Query().Get("follow") != "true" {
		return
	}
	for flush := http.NewResponseController(w); ; {
		_ = flush.Flush()
		select {
		case line, ok := <-as.Follow:
			if !ok {
				return
			}
			_, _ = io.WriteString(w, line)
		case <-r.Context().Done():
			return
		}
	}
}

func podOf(r *http.Request) string { return r.PathValue("namespace") + "/" + r.PathValue("pod") }

func (k *Kubelet) container(pod string) Container {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.containers[pod]
}

// ExecInContainer is for the library.
func (k *Kubelet) ExecInContainer(ctx context.Context, pod, _, _ string, command []string, in io.Reader, out, errs io.WriteCloser, _ bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	run := k.container(pod).Run
	if run == nil {
		return errors.New("nothing can be executed in this pod")
	}
	if code := run(ctx, command, Terminal{In: in, Out: out, Err: errs, Resize: resize}); code != 0 {
		return utilexec.CodeExitError{Err: fmt.Errorf("exit code %d", code), Code: code}
	}
	return nil
}

// AttachContainer is for the library.
func (k *Kubelet) AttachContainer(ctx context.Context, pod, uid, container string, in io.Reader, out, errs io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize) error {
	return k.ExecInContainer(ctx, pod, uid, container, nil, in, out, errs, tty, resize, 0)
}

// PortForward is for the library.
func (k *Kubelet) PortForward(ctx context.Context, pod, _ string, port int32, stream io.ReadWriteCloser) error {
	address, ok := k.container(pod).Ports[port]
	if !ok {
		return fmt.Errorf("port %d is not served", port)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	go func() {
		_, _ = io.Copy(conn, stream)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	_, err = io.Copy(stream, conn)
	return err
}
