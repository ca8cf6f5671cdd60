package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/apimachinery/pkg/util/httpstream/spdy"
	remotecommandconsts "k8s.io/apimachinery/pkg/util/remotecommand"
)

// attempt is a connection that a command in a pod tries to make.
type attempt struct {
	namespace, pod string
	protocol       string // tcp, udp or sctp
	to             netip.AddrPort
}

// commands answers commands in pods, of which there is one: to connect.
type commands struct {
	connects func(attempt) (bool, error)
}

// ServeHTTP serves the exec subresource of pods.
func (c *commands) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, err := attemptOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	connects, err := c.connects(a)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if _, err := httpstream.Handshake(r, w, []string{remotecommandconsts.StreamProtocolV4Name}); err != nil {
		return // the response says so
	}
	streams := make(chan httpstream.Stream, 3)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	if conn == nil {
		return // the response says so
	}
	defer func() { _ = conn.Close() }()
	byType := map[string]httpstream.Stream{}
	for range 3 { // the error stream, stdout and stderr
		s := <-streams
		byType[s.Headers().Get(corev1.StreamType)] = s
	}
	status := metav1.Status{Status: metav1.StatusSuccess}
	if !connects {
		_, _ = io.WriteString(byType[corev1.StreamTypeStderr], "TIMEOUT\n")
		status = metav1.Status{
			Status: metav1.StatusFailure, Reason: remotecommandconsts.NonZeroExitCodeReason,
			Message: "command terminated with exit code 1",
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: remotecommandconsts.ExitCodeCauseType, Message: "1"}}},
		}
	}
	_ = json.NewEncoder(byType[corev1.StreamTypeError]).Encode(status)
	for _, s := range byType {
		_ = s.Close()
	}
	<-conn.CloseChan()
}

// attemptOf reads /api/v1/namespaces/NS/pods/POD/exec?command=/agnhost&command=connect&command=--protocol=tcp&command=HOST:PORT.
func attemptOf(r *http.Request) (attempt, error) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	command := r.URL.Query()["command"]
	if len(parts) != 7 || parts[6] != "exec" || len(command) != 5 || command[0] != "/agnhost" || command[1] != "connect" {
		return attempt{}, fmt.Errorf("%s %q: expected a command that connects", r.URL.Path, command)
	}
	a := attempt{namespace: parts[3], pod: parts[5], protocol: strings.TrimPrefix(command[3], "--protocol=")}
	to, err := netip.ParseAddrPort(command[4])
	if err != nil {
		return attempt{}, fmt.Errorf("%s: %w", strconv.Quote(command[4]), err)
	}
	a.to = to
	return a, nil
}
