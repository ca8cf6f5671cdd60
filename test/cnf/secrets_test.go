package cnf

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/daemon"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// planted are the secrets of this test, by where they come in. Each contains its source.
var planted = map[string]string{
	"account":     "planted-password",
	"new account": "planted-newpassword",
	"key":         "planted-pskinsecret",
	"plain key":   "planted-pskinobject",
	"bad key":     "planted-psk\"withquote",
	"certificate": "plantedkeyincertificate",
}

// private is a planted private key as in a Secret, and inBase64 as in an object.
func private(name string) string {
	return "-----BEGIN PRIVATE KEY-----\n" + planted[name] + "\n-----END PRIVATE KEY-----\n"
}

func inBase64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// plantedObjects are those with secrets in them, or that name Secrets.
const plantedObjects = `
apiVersion: batch.sdewan.akraino.org/v1alpha1
kind: IpsecProposal
metadata: {name: strong, namespace: edge, labels: {sdewanPurpose: branch}}
spec: {encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072}
---
apiVersion: batch.sdewan.akraino.org/v1alpha1
kind: IpsecSite
metadata: {name: by-secret, namespace: edge, labels: {sdewanPurpose: branch}}
spec:
  remote: 203.0.113.50
  authentication_method: psk
  pre_shared_key_secret: {name: tunnel}
  crypto_proposal: [strong]
  connections: [{name: a, conn_type: tunnel, mode: start, local_subnet: 172.16.0.0/24, remote_subnet: 192.168.0.0/16, crypto_proposal: [strong]}]
---
apiVersion: batch.sdewan.akraino.org/v1alpha1
kind: IpsecSite
metadata: {name: plain, namespace: edge, labels: {sdewanPurpose: branch}}
spec:
  remote: 203.0.113.51
  authentication_method: psk
  pre_shared_key: PLAIN
  crypto_proposal: [strong]
  connections: [{name: b, conn_type: tunnel, mode: start, local_subnet: 172.16.0.0/24, remote_subnet: 192.169.0.0/16, crypto_proposal: [strong]}]
---
apiVersion: batch.sdewan.akraino.org/v1alpha1
kind: IpsecSite
metadata: {name: faulty, namespace: edge, labels: {sdewanPurpose: branch}}
spec:
  remote: 203.0.113.52
  authentication_method: psk
  pre_shared_key: FAULTY
  crypto_proposal: [strong]
  connections: [{name: c, conn_type: tunnel, mode: start, local_subnet: 172.16.0.0/24, remote_subnet: 192.170.0.0/16, crypto_proposal: [strong]}]
---
apiVersion: batch.sdewan.akraino.org/v1alpha1
kind: IpsecHost
metadata: {name: certified, namespace: edge, labels: {sdewanPurpose: branch}}
spec:
  remote: 203.0.113.53
  authentication_method: pubkey
  local_public_cert: CERT
  local_private_cert: PRIVATE
  shared_ca: CERT
  crypto_proposal: [strong]
  connections: [{name: d, conn_type: tunnel, mode: start, remote_subnet: 192.171.0.0/16, crypto_proposal: [strong]}]
`

// loud is a recorder of events that keeps them as text.
type loud struct {
	mu   sync.Mutex
	text strings.Builder
}

// Event keeps an event.
func (l *loud) Event(o runtime.Object, kind, reason, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.WriteString(kind + " " + reason + " " + message + "\n")
}

// Eventf keeps an event.
func (l *loud) Eventf(o runtime.Object, kind, reason, format string, args ...any) {
	l.AnnotatedEventf(o, nil, kind, reason, format, args...)
}

// AnnotatedEventf keeps an event.
func (l *loud) AnnotatedEventf(o runtime.Object, notes map[string]string, kind, reason, format string, args ...any) {
	l.Event(o, kind, reason, strings.TrimSpace(strings.Join([]string{sprint(notes), format, sprint(args)}, " ")))
}

func sprint(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

// TestPlantedSecretsComeOutNowhere plants secrets wherever it can, at the most verbose log level, while devices
// fail in every way they can. Then it looks for them in all output of netloom: the log, events, what it writes into
// objects, metrics and every page.
func TestPlantedSecretsComeOutNowhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCluster(t)
		defer c.Close()
		c.log.SetLevel(logrus.TraceLevel)
		events := &loud{}
		c.change = func(o *daemon.Options) {
			o.SDWAN.NoEvents, o.SDWAN.Events, o.SDWAN.StatusInterval, o.Pprof = false, events, 30*time.Second, true
		}
		plant(t, c)
		c.Start()
		time.Sleep(rest)

		leaks := &leaks{t: t, cluster: c, events: events}
		leaks.look("at rest")
		device := c.devices.of("edge/cnf-1").device
		require.Contains(t, device.Export(), planted["key"], "the secrets did come in")
		require.Contains(t, device.Export(), planted["plain key"])
		for _, fault := range []struct {
			name string
			do   func()
		}{
			{"writes fail before", func() { device.Restart(); device.FailAfter(3) }},
			{"writes fail between", func() { device.Restart(); device.FailAt(2, simulator.BetweenHalves) }},
			{"writes fail after", func() { device.Restart(); device.FailAt(2, simulator.AfterWrite) }},
			{"the connection goes", func() { device.Restart(); device.Drop() }},
			{"the device hangs", func() { device.Hang() }},
			{"the device is back", func() { device.Resume() }},
			{"sessions end", func() { device.ExpireSessions() }},
			{"it reports what it should not", func() {
				for module, report := range map[string]string{
					"ipsec": `[{"name":"a","status":"down","pre_shared_key":"` + planted["key"] + `","note":` + sprint(private("certificate")) + `}]`,
					"wan":   `{"net1":{"status":"no ` + planted["account"] + `","sysauth":"` + planted["new account"] + `"}}`,
				} {
					require.NoError(t, device.SetStatus(module, report))
				}
			}},
			{"it does so no more", func() { // it would reveal a password that is no longer one
				require.NoError(t, device.SetStatus("ipsec", "[]"))
				require.NoError(t, device.SetStatus("wan", "{}"))
			}},
			{"the password changes", func() { device.SetPassword(planted["new account"]) }},
			{"so does the Secret", func() {
				require.NoError(t, c.Apply(secret("edge", "cnf-account", map[string]string{"password": planted["new account"]})))
			}},
			{"Secrets may not be read", func() { c.API.Forbid("secrets", true); c.Stop(); c.Start() }},
			{"they may", func() { c.API.Forbid("secrets", false) }},
			{"objects go", func() { c.API.Delete("ipsecsites", "edge", "plain") }},
		} {
			fault.do()
			for range 4 {
				time.Sleep(Interval)
				leaks.look(fault.name)
			}
		}
		require.NotEmpty(t, events.text.String())
		require.Contains(t, c.log.page.String(), "level=warning", "something did go wrong")
	})
}

// plant makes a CNF and the objects with secrets.
func plant(t *testing.T, c *Cluster) {
	t.Helper()
	require.NoError(t, c.Network(workload{namespace: "edge", name: "cnf", purpose: "branch"}, 2))
	for _, r := range c.devices.all() {
		r.device.SetPassword(planted["account"])
	}
	require.NoError(t, c.Apply(
		secret("edge", "cnf-account", map[string]string{"password": planted["account"]}),
		secret("edge", "tunnel", map[string]string{"psk": planted["key"], "pre_shared_key": planted["key"], "key": planted["key"]}),
	))
	text := strings.NewReplacer("PLAIN", planted["plain key"], "FAULTY", "'"+planted["bad key"]+"'",
		"CERT", inBase64("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), "PRIVATE", inBase64(private("certificate"))).Replace(plantedObjects)
	file := filepath.Join(t.TempDir(), "objects.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	require.NoError(t, c.Apply(read(t, file)...))
}

// leaks looks for secrets.
type leaks struct {
	t       *testing.T
	cluster *Cluster
	events  *loud
}

// pages are all that a daemon serves.
var pages = []string{
	"/metrics", "/healthz", "/readyz", "/debug/snapshot", "/debug/manifests", "/debug/plan", "/debug/problems", "/debug/pprof/cmdline",
	"/debug/pprof/heap?debug=1", "/debug/pprof/goroutine?debug=2",
}

// look searches everything that netloom has written for every secret.
func (l *leaks) look(when string) {
	l.t.Helper()
	said := map[string]string{"the log": l.cluster.log.page.String()}
	l.events.mu.Lock()
	said["events"] = l.events.text.String()
	l.events.mu.Unlock()
	for gvr := range l.cluster.API.kinds {
		resource := gvr.Resource
		for _, o := range l.cluster.API.List(resource) {
			if resource == "secrets" {
				continue
			}
			written := o.DeepCopy().Object
			delete(written, "spec") // written by another client
			said[resource+" "+o.GetName()] = sprint(written)
		}
	}
	for _, page := range pages {
		w := httptest.NewRecorder()
		l.cluster.controller.daemon.Handler().ServeHTTP(w, httptest.NewRequestWithContext(l.t.Context(), http.MethodGet, page, http.NoBody))
		require.NotEqual(l.t, http.StatusNotFound, w.Code, page)
		said[page] = w.Body.String()
	}
	for where, text := range said {
		for name, value := range planted {
			for _, form := range []string{value, inBase64(value), inBase64(private(name)), strings.ReplaceAll(value, `"`, `\"`)} {
				require.NotContains(l.t, text, form, "%s: the planted %s stands in %s", when, name, where)
			}
		}
	}
}
