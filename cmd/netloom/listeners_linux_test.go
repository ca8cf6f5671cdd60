package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/serve/authority"
	"github.com/netloom/netloom/test/await"
)

// server is a netloom that serves, in a process of its own.
type server struct {
	*testing.T
	id  int
	log *bytes.Buffer // to be read once it has ended
}

// TestEveryListenerIsBounded starts the commands that serve in production, and asks the kernel where each listens: a listener that is
// added is found, and has to be counted here. Each one gets more connections from one address than it may have, on which clients do what
// costs nothing. It holds no more than it may, and answers another address. docs/security.md has the bounds.
func TestEveryListenerIsBounded(t *testing.T) {
	const local = "127.0.0.1:0"
	kubeconfig, _ := twoClusters(t)
	dir, clusters := manifests(t), t.TempDir()
	write(t, clusters, "prod.yaml", upstreamCluster)
	cert, key := servingPair(t)
	run := []string{"run", "--ovn-nb", "embedded", "--listen", local, "--debug-listen", local, "--ui-listen", local}
	for _, tc := range []struct {
		name      string
		args      []string
		listeners int
	}{
		{"run", append(run, "--manifests", dir), 3},
		{"run over TLS", append(run, "--manifests", dir, "--listen-tls", "self"), 3},
		{"run with reviews", append(run, "--kubeconfig", kubeconfig, "--webhook-listen", local, "--webhook-tls-cert", cert, "--webhook-tls-key", key), 4},
		{"webhook", []string{"webhook", "--kubeconfig", kubeconfig, "--listen", local, "--health-listen", local, "--tls-cert", cert, "--tls-key", key}, 2},
		{"gateway", []string{"gateway", "--clusters", clusters, "--listen", local, "--metrics-listen", local, "--tls-cert", cert, "--tls-key", key}, 2},
		{"demo of the gateway", []string{"demo", "--gateway"}, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := start(t, tc.args)
			await.True(t, func() bool { return len(s.listeners()) == tc.listeners }, "%d listeners", tc.listeners)
			for _, at := range s.listeners() {
				s.flood(at)
			}
			require.Len(t, s.listeners(), tc.listeners)
		})
	}
}

// start runs netloom with a memory limit, by which the gateway bounds its connections.
func start(t *testing.T, args []string) *server {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	p := exec.CommandContext(t.Context(), program, args...)
	p.Env = append(os.Environ(), asProgram+"=1", "GOMEMLIMIT=256MiB", "HOME="+t.TempDir())
	log := &bytes.Buffer{}
	p.Stderr = log
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	return &server{t, p.Process.Pid, log}
}

// servingPair writes a certificate and its key.
func servingPair(t *testing.T) (cert, key string) {
	t.Helper()
	a, err := authority.New("test", time.Now(), authority.Year)
	require.NoError(t, err)
	pair, err := a.Server("localhost", "127.0.0.1")
	require.NoError(t, err)
	dir := t.TempDir()
	write(t, dir, "tls.crt", string(pair.Cert))
	write(t, dir, "tls.key", string(pair.Key))
	return filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
}

// The most connections that a listener may have, by whom it is for: those with a reserve for others, of docs/security.md.
const (
	maxProbeConns  = 256
	maxClientConns = 512 // admission reviews, and the gateway with little memory
	excessConns    = 40
)

// The parameters of HTTP/2 for it, which a client reads: RFC 9113, 6.5.2.
const (
	settingStreams   = 3
	maxProbeStreams  = 32
	maxClientStreams = 250
)

// flood does to a listener what costs its clients nothing.
func (s *server) flood(address string) {
	s.Helper()
	secure, most := s.isSecure(address), maxProbeConns
	if secure {
		streams := s.streams(address)
		require.Contains(s, []uint32{maxProbeStreams, maxClientStreams}, streams)
		if streams == maxClientStreams {
			most = maxClientConns
		}
	}
	texts := floods(secure)
	for _, what := range slices.Sorted(maps.Keys(texts)) {
		text := texts[what]
		var open []net.Conn
		ended := make(chan struct{}, most+excessConns)
		for range cap(ended) {
			c := s.connect(address, "127.0.0.2")
			open = append(open, c)
			go func() {
				defer func() { ended <- struct{}{} }()
				if secure && text != "" {
					wrapped := tls.Client(c, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
					if wrapped.HandshakeContext(s.Context()) != nil {
						return
					}
					c = wrapped
				}
				_, _ = io.WriteString(c, text)
				_, _ = io.Copy(io.Discard, c) // until the server closes it
			}()
		}
		await.True(s, func() bool { return len(ended) >= excessConns && s.connections(address) <= most }, "%s has at most %d connections: %s", address, most, what)
		require.True(s, s.answers(address, secure), "%s: %s", address, what)
		for _, c := range open {
			_ = c.Close()
		}
		await.True(s, func() bool { return s.connections(address) == 0 }, "the connections have ended")
	}
}

// floods are what clients send, by what it is.
func floods(secure bool) map[string]string {
	out := map[string]string{
		"nothing":                       "",
		"half a header":                 "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 4000),
		"one request, and then nothing": "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
	}
	if !secure { // there, it goes on as this does
		out["the beginning of HTTP/2"] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
		out["a body that does not come"] = "POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nx"
		out["streams of events that are never read"] = "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
	}
	return out
}

func (s *server) connect(address, from string) net.Conn {
	s.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := dialer.DialContext(s.Context(), "tcp", address)
	require.NoError(s, err)
	s.Cleanup(func() { _ = c.Close() })
	return c
}

// isSecure reports whether a listener expects TLS.
func (s *server) isSecure(address string) bool {
	s.Helper()
	c := tls.Client(s.connect(address, "127.0.0.1"), &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
	defer func() { _ = c.Close() }()
	return c.HandshakeContext(s.Context()) == nil
}

// answers reports whether a request from an address of its own is answered, whatever the answer is.
func (s *server) answers(address string, secure bool) bool {
	s.Helper()
	c := s.connect(address, "127.0.0.1")
	if secure {
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return false
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	return err == nil && response.Body.Close() == nil
}

// streams reads how many requests a listener accepts at once on a connection of HTTP/2.
func (s *server) streams(address string) (most uint32) {
	s.Helper()
	c := tls.Client(s.connect(address, "127.0.0.1"), &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}})
	defer func() { _ = c.Close() }()
	settings := []byte{0, 0, 0, 4, 0, 0, 0, 0, 0} // an empty frame of them
	_, err := fmt.Fprint(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", string(settings))
	require.NoError(s, err)
	header := make([]byte, len(settings))
	_, err = io.ReadFull(c, header)
	require.NoError(s, err)
	require.Equal(s, settings[3], header[3], "the first frame has the settings")
	payload := make([]byte, header[2])
	_, err = io.ReadFull(c, payload)
	require.NoError(s, err)
	for ; len(payload) >= 6; payload = payload[6:] {
		if binary.BigEndian.Uint16(payload) == settingStreams {
			most = binary.BigEndian.Uint32(payload[2:])
		}
	}
	return most
}

// socket is a TCP socket of the process, as the kernel lists it.
type socket struct{ local, remote, state string }

// The states of sockets that matter here, of include/net/tcp_states.h.
const (
	established = "01"
	listening   = "0A"
	flooding    = "0200007F:" // 127.0.0.2
)

var socketLink = regexp.MustCompile(`^socket:\[(\d+)\]$`)

// sockets lists the TCP sockets of the process.
func (s *server) sockets() (out []socket) {
	s.Helper()
	own := map[string]bool{}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", s.id))
	require.NoError(s, err)
	for _, file := range files {
		if to, err := os.Readlink(file); err == nil { // it may be closed meanwhile
			if found := socketLink.FindStringSubmatch(to); found != nil {
				own[found[1]] = true
			}
		}
	}
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", s.id, table))
		require.NoError(s, err, "the process has ended: %s", s.log)
		for _, line := range strings.Split(string(text), "\n")[1:] {
			if fields := strings.Fields(line); len(fields) > 9 && own[fields[9]] {
				out = append(out, socket{fields[1], fields[2], fields[3]})
			}
		}
	}
	return out
}

// address returns the address in a line of /proc/net/tcp, on loopback.
func (s socket) address() string {
	_, port, _ := strings.Cut(s.local, ":")
	n, _ := strconv.ParseUint(port, 16, 16)
	return fmt.Sprint("127.0.0.1:", n)
}

func (s *server) listeners() (out []string) {
	s.Helper()
	for _, one := range s.sockets() {
		if one.state == listening {
			out = append(out, one.address())
		}
	}
	slices.Sort(out)
	return out
}

// connections counts those that the process has accepted at a listener from the address of flood.
func (s *server) connections(address string) (n int) {
	s.Helper()
	for _, one := range s.sockets() {
		if one.state == established && one.address() == address && strings.HasPrefix(one.remote, flooding) {
			n++
		}
	}
	return n
}
