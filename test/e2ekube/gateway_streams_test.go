//go:build e2e

package e2ekube_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	utilexec "k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// shell stands for the processes of a container. All end with their input.
func shell(_ context.Context, command []string, terminal kubelab.Terminal) (exit int) {
	switch strings.Join(command, " ") {
	case "": // the main process
		_, _ = io.WriteString(terminal.Out, "ready\n")
	case "fail":
		_, _ = io.WriteString(terminal.Err, "no\n")
		exit = 3
	case "size":
		size := <-terminal.Resize
		_, _ = fmt.Fprintf(terminal.Out, "%dx%d", size.Width, size.Height)
	}
	to := io.Discard
	if terminal.Out != nil {
		to = terminal.Out
	}
	_, _ = io.Copy(to, terminal.In)
	return exit
}

// session is a client of a process. Its input ends after the output that it expects: what a process writes right before its
// end can be lost with SPDY, without a gateway too.
type session struct {
	input, output []byte
	more          *io.PipeWriter
	got           bytes.Buffer
}

// Write takes output.
func (s *session) Write(p []byte) (int, error) {
	s.got.Write(p)
	if s.got.Len() >= len(s.output) {
		_ = s.more.Close()
	}
	return len(p), nil
}

// run starts the process and requires its output.
func (s *session) run(t *testing.T, executor remotecommand.Executor, with func(o *remotecommand.StreamOptions)) error {
	t.Helper()
	rest, more := io.Pipe()
	s.more = more
	o := remotecommand.StreamOptions{Stdin: io.MultiReader(bytes.NewReader(s.input), rest), Stdout: s, Stderr: io.Discard}
	if with != nil {
		with(&o)
	}
	err := executor.StreamWithContext(await.Context(t), o)
	require.True(t, bytes.Equal(s.output, s.got.Bytes()), "%d of %d bytes: %v", s.got.Len(), len(s.output), err)
	return err
}

// streams are clients of one pod through the gateway.
type streams struct {
	t      *testing.T
	config *rest.Config
	rest   rest.Interface
}

// of returns the URL of a subresource of the pod.
func (s *streams) of(subresource string, options runtime.Object) *url.URL {
	r := s.rest.Post().Resource("pods").Namespace("default").Name("shell").SubResource(subresource)
	if options != nil {
		r = r.VersionedParams(options, scheme.ParameterCodec)
	}
	return r.URL()
}

// executors are those of client-go, by the protocol that they switch to.
func (s *streams) executors(at *url.URL) map[string]remotecommand.Executor {
	overSPDY, err := remotecommand.NewSPDYExecutor(s.config, http.MethodPost, at)
	require.NoError(s.t, err)
	overWebsocket, err := remotecommand.NewWebSocketExecutor(s.config, http.MethodGet, at.String())
	require.NoError(s.t, err)
	return map[string]remotecommand.Executor{"SPDY": overSPDY, "websocket": overWebsocket}
}

// sizes tells a remote process one size of the terminal.
type sizes chan remotecommand.TerminalSize

// Next is for the executor.
func (s sizes) Next() *remotecommand.TerminalSize {
	size, ok := <-s
	if !ok {
		return nil
	}
	return &size
}

// adoptShell starts a node, and a pod with a shell there.
func adoptShell(t *testing.T, lab *kubelab.Lab) {
	t.Helper()
	lab.Apply("{apiVersion: v1, kind: Pod, metadata: {name: shell}, spec: {containers: [{name: c, image: i}]}}")
	pod, err := lab.Client().CoreV1().Pods("default").Get(t.Context(), "shell", metav1.GetOptions{})
	require.NoError(t, err)
	lab.StartKubelet("n1").Adopt(pod, kubelab.Container{Run: shell, Ports: map[int32]string{80: echo(t)}})
}

// testStreams executes commands, attaches to a process and forwards ports with client-go's libraries, both protocols. It returns how
// often it did so.
func testStreams(t *testing.T, config *rest.Config, unprivileged string) int {
	t.Helper()
	s := &streams{t: t, config: config}
	var err error
	s.rest, err = rest.RESTClientFor(typed(s.config))
	require.NoError(t, err)
	data := make([]byte, 1<<20)
	_, err = rand.Read(data)
	require.NoError(t, err)

	exec := func(command string, tty bool) *url.URL {
		return s.of("exec", &corev1.PodExecOptions{Container: "c", Command: []string{command}, Stdin: true, Stdout: true, Stderr: !tty, TTY: tty})
	}
	toErr := func(o *remotecommand.StreamOptions) { o.Stdout, o.Stderr = io.Discard, o.Stdout }
	for protocol, executor := range s.executors(exec("cat", false)) {
		require.NoError(t, (&session{input: data, output: data}).run(t, executor, nil), protocol)
	}
	for protocol, executor := range s.executors(exec("fail", false)) {
		var exit utilexec.CodeExitError
		require.ErrorAs(t, (&session{output: []byte("no\n")}).run(t, executor, toErr), &exit, protocol)
		require.Equal(t, 3, exit.Code, protocol)
	}
	for protocol, executor := range s.executors(exec("size", true)) {
		size := sizes(make(chan remotecommand.TerminalSize, 1))
		size <- remotecommand.TerminalSize{Width: 132, Height: 43}
		require.NoError(t, (&session{output: []byte("132x43")}).run(t, executor, func(o *remotecommand.StreamOptions) {
			o.Tty, o.TerminalSizeQueue, o.Stderr = true, size, nil
		}), protocol)
		close(size)
	}
	for protocol, executor := range s.executors(s.of("attach", &corev1.PodAttachOptions{Container: "c", Stdin: true, Stdout: true, Stderr: true})) {
		require.NoError(t, (&session{input: []byte("hello"), output: []byte("ready\nhello")}).run(t, executor, nil), protocol)
	}
	s.forward(data)

	s.config = typed(&rest.Config{Host: s.config.Host, BearerToken: unprivileged, TLSClientConfig: rest.TLSClientConfig{CAFile: s.config.CAFile}})
	for protocol, executor := range s.executors(exec("cat", false)) {
		err := executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: strings.NewReader(""), Stdout: io.Discard})
		require.ErrorContains(t, err, "forbidden", "%s: the API server decides", protocol)
	}
	return 12
}

// typed is a configuration for a client of the core group.
func typed(c *rest.Config) *rest.Config {
	c.APIPath, c.GroupVersion, c.NegotiatedSerializer = "/api", &corev1.SchemeGroupVersion, scheme.Codecs.WithoutConversion()
	return c
}

// forward sends data through a forwarded port, twice at once, and expects it back.
func (s *streams) forward(data []byte) {
	at := s.of("portforward", nil)
	transport, upgrader, err := spdy.RoundTripperFor(s.config)
	require.NoError(s.t, err)
	overWebsocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(at, s.config)
	require.NoError(s.t, err)
	for protocol, dialer := range map[string]httpstream.Dialer{
		"SPDY": spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, at), "websocket": overWebsocket,
	} {
		stop, ready := make(chan struct{}), make(chan struct{})
		forwarder, err := portforward.NewOnAddressesForStreaming(dialer, []string{"127.0.0.1"}, []string{"0:80"}, stop, ready, io.Discard, io.Discard)
		require.NoError(s.t, err)
		ended := make(chan error, 1)
		go func() { ended <- forwarder.ForwardPorts() }()
		select {
		case err := <-ended:
			require.NoError(s.t, err, protocol)
		case <-ready:
		}
		local, err := forwarder.GetPorts()
		require.NoError(s.t, err)
		results := make(chan error, 2)
		for range cap(results) {
			go func() { results <- roundTrip(net.JoinHostPort("127.0.0.1", strconv.Itoa(int(local[0].Local))), data) }()
		}
		for range cap(results) {
			require.NoError(s.t, <-results, protocol)
		}
		close(stop)
		<-ended
	}
}

// roundTrip sends data to an address and compares the answer.
func roundTrip(address string, data []byte) error {
	conn, err := net.Dial("tcp", address) //nolint:noctx // the port is forwarded by this process
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	go func() {
		_, _ = conn.Write(data)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(conn)
	if err == nil && !bytes.Equal(got, data) {
		err = fmt.Errorf("%d of %d bytes came back", len(got), len(data))
	}
	return err
}

// echo serves connections that get back what they send.
func echo(t *testing.T) (address string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	return listener.Addr().String()
}
