//go:build e2e

package kubelab

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// KillControlPlane sends SIGKILL to etcd and the API server at the same moment. What etcd wrote is in its directory.
func (l *Lab) KillControlPlane() {
	l.etcd.Kill()
	l.api.Kill()
}

// StartControlPlane starts etcd again with its data, and then the API server.
func (l *Lab) StartControlPlane() {
	l.tb.Helper()
	l.etcd = l.spawn("etcd", l.etcdFlags()...)
	l.StartAPI()
}

// CopyDatabase copies what etcd has now. Restore kills etcd and the API server, puts the copy in place of the database and starts both.
func (l *Lab) CopyDatabase() (restore func()) {
	l.tb.Helper()
	from, to := l.path("etcd"), l.path("etcd-copy")
	resume := l.pause(l.etcd) // nothing is written meanwhile
	err := os.CopyFS(to, os.DirFS(from))
	resume()
	if err != nil {
		l.tb.Fatal(err)
	}
	return func() {
		l.tb.Helper()
		l.KillControlPlane()
		if err := errors.Join(os.RemoveAll(from), os.CopyFS(from, os.DirFS(to))); err != nil {
			l.tb.Fatal(err)
		}
		l.StartControlPlane()
	}
}

// APIServer is the running process.
func (l *Lab) APIServer() *ovnlab.Process { return l.api }

// Compact makes etcd drop all but the newest state of every object, and returns that revision.
func (l *Lab) Compact() (revision int64) {
	l.tb.Helper()
	ctx := l.tb.Context()
	var now struct {
		Header struct {
			Revision int64 `json:"revision,string"`
		} `json:"header"`
	}
	if err := l.askEtcd(ctx, "range", map[string]any{"key": []byte("/")}, &now); err != nil {
		l.tb.Fatal(err)
	}
	err := l.askEtcd(ctx, "compaction", map[string]any{"revision": now.Header.Revision, "physical": true}, nil)
	if err != nil {
		l.tb.Fatal(err)
	}
	return now.Header.Revision
}

// askEtcd calls a method of etcd's key-value service through its gateway, which uses JSON.
func (l *Lab) askEtcd(ctx context.Context, method string, ask, answer any) error {
	pair, err := tls.LoadX509KeyPair(l.path("etcd.crt"), l.path("etcd.key"))
	if err != nil {
		return fmt.Errorf("etcd %s: %w", method, err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(l.authorityCertificate())
	transport := &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	body, err := json.Marshal(ask)
	if err != nil {
		return fmt.Errorf("etcd %s: %w", method, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("https://127.0.0.1:%d/v3/kv/%s", l.etcdPort, method), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("etcd %s: %w", method, err)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return fmt.Errorf("etcd %s: %w", method, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("etcd %s: %w", method, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd %s: %s: %s", method, response.Status, text)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("etcd %s: %w", method, err)
	}
	return nil
}
