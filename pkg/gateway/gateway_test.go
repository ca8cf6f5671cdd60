package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway"
	"github.com/netloom/netloom/pkg/gateway/identity"
	"github.com/netloom/netloom/pkg/gateway/registry"
	"github.com/netloom/netloom/pkg/gateway/upstream"
	"github.com/netloom/netloom/test/await"
)

// one is a rig with the cluster a.example of one API server, and a client with a certificate.
func one(t *testing.T, change func(o *gateway.Options)) (*rig, *apiServer, *authority, *http.Client) {
	t.Helper()
	ca := newAuthority(t)
	server := newAPIServer(t, ca)
	r := newRig(t, change)
	r.serve(cluster("a.example", ca, server))
	return r, server, ca, r.client("a.example", ca.pair("ann", "dev", "ops"))
}

const pods = "https://a.example/api/v1/namespaces/shop/pods"

func TestARequestIsForwardedAsItsUser(t *testing.T) {
	t.Parallel()
	r, server, _, client := one(t, nil)
	server.change(func() { server.users["good"] = "bob" })
	got := r.ask(client, http.MethodGet, pods+"?limit=5&labelSelector=a%3Db", "Accept", "application/vnd.kubernetes.protobuf", "Accept-Encoding", "gzip", "Audit-Id", "my-id")
	require.Equal(t, answer{200, got.header, "answer"}, got)
	require.Equal(t, "gzip", got.header.Get("Content-Encoding"), "nothing is decompressed")
	seen := server.request()
	require.Equal(t, "/api/v1/namespaces/shop/pods?limit=5&labelSelector=a%3Db", seen.URI)
	require.Equal(t, "HTTP/2.0", seen.Proto)
	require.Equal(t, "ann", seen.Header.Get("Impersonate-User"))
	require.ElementsMatch(t, []string{"dev", "ops"}, seen.Header["Impersonate-Group"])
	require.NotEmpty(t, seen.Header.Get("Impersonate-Extra-Authentication.kubernetes.io%2fcredential-Id"))
	require.Equal(t, "my-id", seen.Header.Get("Audit-Id"))
	require.Equal(t, "application/vnd.kubernetes.protobuf", seen.Header.Get("Accept"))
	require.Equal(t, "gzip", seen.Header.Get("Accept-Encoding"))
	require.Equal(t, "127.0.0.1", seen.Header.Get("X-Forwarded-For"))
	long := strings.Repeat("x", 65)
	require.Equal(t, 200, r.ask(client, http.MethodGet, pods, "Audit-Id", long).code)
	require.Len(t, server.request().Header.Get("Audit-Id"), 36, "one that is too long is replaced")

	got = r.send(r.client("a.example"), http.MethodPost, pods, bytes.NewReader(make([]byte, 1<<20)), "Authorization", "Bearer good")
	require.Equal(t, 200, got.code)
	require.EqualValues(t, 1<<20, server.request().Body)
	require.Equal(t, "bob", server.request().Header.Get("Impersonate-User"))
	require.NotEmpty(t, server.request().Header.Get("Audit-Id"))
}

func TestClientsWithoutACredentialAreRefused(t *testing.T) {
	t.Parallel()
	r, server, _, _ := one(t, nil)
	for name, got := range map[string]answer{
		"nothing":                       r.ask(r.client("a.example"), http.MethodGet, pods),
		"an unknown token":              r.ask(r.client("a.example"), http.MethodGet, pods, "Authorization", "Bearer made-up"),
		"a password":                    r.ask(r.client("a.example"), http.MethodGet, pods, "Authorization", "Basic Zzpn"),
		"a certificate of another CA":   r.ask(r.client("a.example", newAuthority(t).pair("ann")), http.MethodGet, pods),
		"the gateway's token is no one": r.ask(r.client("a.example"), http.MethodGet, pods, "Authorization", "Bearer gateway"),
	} {
		require.Equal(t, 401, got.code, name)
		require.Contains(t, got.body, `"reason":"Unauthorized"`, name)
		require.NotEmpty(t, got.header.Get("Audit-Id"), name)
	}
	require.Zero(t, server.total())
	server.CloseClientConnections()
	server.Close()
	await.True(t, func() bool {
		return r.ask(r.client("a.example"), http.MethodGet, pods, "Authorization", "Bearer other").code == 503
	}, "a cluster that cannot be asked refuses nobody for good")
}

func TestNamesSelectClusters(t *testing.T) {
	t.Parallel()
	caA, caB := newAuthority(t), newAuthority(t)
	a, b := newAPIServer(t, caA), newAPIServer(t, caB)
	r := newRig(t, nil)
	r.serve(cluster("a.example", caA, a))
	second := cluster("b.example", caB, b)
	second.Spec.SecureServing.ServerNames = []string{"also-b.example", "a.example"}
	second.Spec.SecureServing.CertData, second.Spec.SecureServing.KeyData = caB.issue("b", nil, "b.example")
	r.serve(second)
	require.Equal(t, "the host name a.example belongs to cluster a.example", r.gateway.Clusters().Conflict("b.example"))

	require.Equal(t, 200, r.ask(r.client("a.example", caA.pair("ann")), http.MethodGet, "https://A.example.:6443/version").code)
	require.Equal(t, 1, a.total())
	require.Equal(t, 200, r.ask(r.client("a.example", caB.pair("ann")), http.MethodGet, "https://also-b.example/version").code)
	require.Equal(t, 1, b.total())
	got := r.ask(r.client("a.example", caA.pair("ann")), http.MethodGet, "https://c.example/version")
	require.Equal(t, 503, got.code)
	require.Contains(t, got.body, "no cluster is served at the host name")

	r.serving = caB
	require.Equal(t, 200, r.ask(r.client("b.example", caB.pair("ann")), http.MethodGet, "https://b.example/version").code, "b has a certificate of its own")
	r.gateway.Clusters().Delete("a.example")
	require.Equal(t, 200, r.ask(r.client("b.example", caB.pair("ann")), http.MethodGet, "https://a.example/version").code, "the name is free")
}

func TestCredentialsAreOfOneCluster(t *testing.T) {
	t.Parallel()
	caA, caB := newAuthority(t), newAuthority(t)
	a, b := newAPIServer(t, caA), newAPIServer(t, caB)
	a.change(func() { a.users["good"] = "bob" })
	for _, strict := range []bool{false, true} {
		r := newRig(t, func(o *gateway.Options) { o.StrictNames = strict })
		r.serve(cluster("a.example", caA, a))
		r.serve(cluster("b.example", caB, b))
		client := r.client("a.example", caA.pair("ann"))
		require.Equal(t, 200, r.ask(client, http.MethodGet, "https://a.example/version", "Authorization", "Bearer good").code)
		want := 401
		if strict {
			want = http.StatusMisdirectedRequest
		}
		require.Equal(t, want, r.ask(client, http.MethodGet, "https://b.example/version", "Authorization", "Bearer good").code,
			"neither the certificate nor the cached token of a counts for b, on a connection for a")
		require.Equal(t, 401, r.ask(r.client("b.example", caA.pair("ann")), http.MethodGet, "https://b.example/version").code)
	}
	require.Zero(t, b.total())
}

func TestImpersonationGoesThroughTheGateway(t *testing.T) {
	t.Parallel()
	r, server, _, client := one(t, nil)
	server.change(func() { server.may["ann users bob"] = true })
	require.Equal(t, 200, r.ask(client, http.MethodGet, pods, "Impersonate-User", "bob").code)
	require.Equal(t, []string{"bob"}, server.request().Header["Impersonate-User"])
	require.Empty(t, server.request().Header["Impersonate-Group"], "the groups of the requester are not those of bob")
	got := r.ask(client, http.MethodGet, pods, "Impersonate-User", "bob", "Impersonate-Uid", "1")
	require.Equal(t, 403, got.code)
	require.Contains(t, got.body, `user \"ann\" cannot impersonate uids \"1\"`)
	require.Equal(t, 400, r.ask(client, http.MethodGet, pods, "Impersonate-Group", "system:masters").code)
	require.Equal(t, 1, server.total())
}

func TestPoliciesDispatchAndLimit(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	first, second := newAPIServer(t, ca), newAPIServer(t, ca)
	r := newRig(t, nil)
	o := cluster("a.example", ca, first, second)
	o.Spec.FlowControl.FlowControlSchemas = []v1alpha1.FlowControlSchema{
		{Name: "one", MaxRequestsInflight: &v1alpha1.MaxRequestsInflight{Max: 1}}, {Name: "slow", TokenBucket: &v1alpha1.TokenBucket{QPS: 1, Burst: 1}},
	}
	rule := func(resource string) []v1alpha1.DispatchPolicyRule {
		return []v1alpha1.DispatchPolicyRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{resource, resource + "/log"}}}
	}
	o.Spec.DispatchPolicies = []v1alpha1.DispatchPolicy{
		{Rules: rule("pods"), UpsteamSubset: []string{first.URL}, FlowControlSchemaName: "one"}, {Rules: rule("nodes"), FlowControlSchemaName: "slow"},
	}
	r.serve(o)
	client := r.client("a.example", ca.pair("ann"))
	for range 6 {
		require.Equal(t, 200, r.ask(client, http.MethodGet, pods).code)
	}
	require.Equal(t, [2]int{6, 0}, [2]int{first.total(), second.total()})
	got := r.ask(client, http.MethodGet, "https://a.example/version")
	require.Equal(t, 403, got.code)
	require.Contains(t, got.body, "no dispatch policy of cluster a.example matches")

	watch := r.watch(client, pods+"?watch=true")
	require.Equal(t, 200, r.ask(client, http.MethodGet, pods).code, "a watch takes no place")
	watch.close()
	first.change(func() {
		first.objects = func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/log") {
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
				return true
			}
			return false
		}
	})
	logs := r.watch(client, pods+"/web/log?follow=true")
	require.Equal(t, 200, r.ask(client, http.MethodGet, pods).code, "nor does a log")
	logs.close()
	limited := 0
	for range 5 {
		if got := r.ask(client, http.MethodGet, "https://a.example/api/v1/nodes"); got.code == 429 {
			limited++
			seconds, err := strconv.Atoi(got.header.Get("Retry-After"))
			require.NoError(t, err)
			require.Positive(t, seconds)
			require.Contains(t, got.body, "TooManyRequests")
		}
	}
	require.Positive(t, limited)
}

// stream is a watch of a client.
type stream struct {
	response *http.Response
	lines    *bufio.Reader
	close    func()
}

func (r *rig) watch(client *http.Client, url string) *stream {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	require.NoError(r.t, err)
	response, err := client.Do(request) //nolint:bodyclose // close does
	require.NoError(r.t, err)
	require.Equal(r.t, 200, response.StatusCode)
	return &stream{response, bufio.NewReader(response.Body), func() {
		cancel()
		_ = response.Body.Close()
	}}
}

func (s *stream) next(t *testing.T) string {
	t.Helper()
	line, err := s.lines.ReadString('\n')
	require.NoError(t, err)
	return line
}

func TestEventsAreForwardedAtOnce(t *testing.T) {
	t.Parallel()
	r, server, _, client := one(t, nil)
	watch := r.watch(client, pods+"?watch=true")
	server.events <- "first\n"
	require.Equal(t, "first\n", watch.next(t), "before there is a second one")
	server.events <- "second\n"
	require.Equal(t, "second\n", watch.next(t))
	require.Equal(t, 1, r.gateway.Clusters().Endpoints("a.example")[0].Streams)
	watch.close()
	await.True(t, func() bool { return r.gateway.Clusters().Endpoints("a.example")[0].Streams == 0 }, "a client that hangs up ends its watch at the API server")
}

func TestProtocolsAreSwitched(t *testing.T) {
	t.Parallel()
	r, server, ca, _ := one(t, nil)
	for _, protocol := range []string{"SPDY/3.1", "websocket"} {
		conn, reader := r.raw("POST /api/v1/namespaces/shop/pods/web/exec?command=sh HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: "+
			protocol+"\r\nX-Stream-Protocol-Version: v5.channel.k8s.io\r\nContent-Length: 0\r\n\r\n", ca.pair("ann"))
		response, err := http.ReadResponse(reader, nil)
		require.NoError(t, err)
		require.Equal(t, 101, response.StatusCode)
		require.NoError(t, response.Body.Close())
		_, err = io.WriteString(conn, "hello\n")
		require.NoError(t, err)
		line, err := reader.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "hello\n", line)
		require.Equal(t, "HTTP/1.1", server.request().Proto)
		require.Equal(t, "ann", server.request().Header.Get("Impersonate-User"))
		require.Equal(t, "v5.channel.k8s.io", server.request().Header.Get("X-Stream-Protocol-Version"))
	}
}

// TestConfigurationChangesUnderTraffic changes everything that an object has while requests are sent, and expects every request
// to be answered.
func TestConfigurationChangesUnderTraffic(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	first, second := newAPIServer(t, ca), newAPIServer(t, ca)
	r := newRig(t, nil)
	o := cluster("a.example", ca, first)
	r.serve(o)
	ctx, stop := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	for range 4 {
		client := r.client("a.example", ca.pair("ann"))
		wait.Go(func() {
			for ctx.Err() == nil {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, pods, http.NoBody)
				if err != nil {
					t.Error(err)
					return
				}
				response, err := client.Do(request)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				if response.StatusCode != http.StatusOK {
					t.Errorf("a request was answered with %d", response.StatusCode)
					return
				}
			}
		})
	}
	watch := r.watch(r.client("a.example", ca.pair("ann")), pods+"?watch=true")
	change := func(do func(s *v1alpha1.UpstreamClusterSpec)) {
		o = o.DeepCopy()
		do(&o.Spec)
		r.serve(o)
		target := first.total() + second.total() + 20
		await.True(t, func() bool {
			return first.total()+second.total() >= target || t.Failed()
		}, "20 more requests have been served")
	}
	change(func(s *v1alpha1.UpstreamClusterSpec) {
		s.Servers = append(s.Servers, v1alpha1.UpstreamClusterServer{Endpoint: second.URL})
	})
	change(func(s *v1alpha1.UpstreamClusterSpec) {
		s.FlowControl.FlowControlSchemas = []v1alpha1.FlowControlSchema{{Name: "x", MaxRequestsInflight: &v1alpha1.MaxRequestsInflight{Max: 100}}}
		s.DispatchPolicies[0].FlowControlSchemaName = "x"
	})
	change(func(s *v1alpha1.UpstreamClusterSpec) {
		s.ClientConfig.CertData, s.ClientConfig.KeyData = ca.issue("gateway", nil)
	})
	change(func(s *v1alpha1.UpstreamClusterSpec) {
		s.SecureServing.CertData, s.SecureServing.KeyData = r.serving.issue("x", nil, "a.example")
	})
	change(func(s *v1alpha1.UpstreamClusterSpec) {
		s.SecureServing.ClientCAData = append(newAuthority(t).pem(), s.SecureServing.ClientCAData...)
	})
	first.events <- "still here\n"
	require.Equal(t, "still here\n", watch.next(t), "the watch survived new credentials")
	change(func(s *v1alpha1.UpstreamClusterSpec) { s.Servers = s.Servers[1:] })
	_, err := watch.lines.ReadString('\n')
	require.Equal(t, io.EOF, err, "its API server is gone: it ends in order")
	stop()
	wait.Wait()
}

// TestCredentialsOfTheGatewayRotate changes the token that the API servers accept.
func TestCredentialsOfTheGatewayRotate(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	server := newAPIServer(t, ca)
	r := newRig(t, nil)
	o := cluster("a.example", ca, server)
	r.serve(o)
	client := r.client("a.example", ca.pair("ann"))
	require.Equal(t, 200, r.ask(client, http.MethodGet, pods).code)
	server.change(func() { server.token = "rotated" })
	o = o.DeepCopy()
	o.Spec.ClientConfig.BearerToken = []byte("rotated")
	require.NoError(t, r.gateway.Clusters().Put(o))
	require.Equal(t, 200, r.ask(client, http.MethodGet, pods).code)

	bad := o.DeepCopy()
	bad.Spec.ClientConfig.CAData = []byte("none")
	require.Error(t, r.gateway.Clusters().Put(bad))
	require.ErrorContains(t, r.gateway.Clusters().Faults()["a.example"], "caData")
	require.Equal(t, 200, r.ask(client, http.MethodGet, pods).code, "the last good version is served")
	require.NoError(t, r.gateway.Clusters().Put(o))
	require.Empty(t, r.gateway.Clusters().Faults())
}

func TestStoppingEndsWatchesInOrder(t *testing.T) {
	t.Parallel()
	r, server, _, client := one(t, nil)
	var watches []*stream
	for range 20 {
		watches = append(watches, r.watch(client, pods+"?watch=true"))
	}
	server.events <- "last\n"
	r.stop()
	for _, w := range watches {
		_, err := io.Copy(io.Discard, w.lines)
		require.NoError(t, err, "a watch ends as if the API server had ended it")
		_ = w.response.Body.Close()
	}
	err := <-r.stopped
	require.NoError(t, err)
	r.stopped <- err
}

func TestRequestsAreLoggedAndCounted(t *testing.T) {
	t.Parallel()
	log, hook := logtest.NewNullLogger()
	registry := prometheus.NewRegistry()
	ca := newAuthority(t)
	server := newAPIServer(t, ca)
	r := newRig(t, func(o *gateway.Options) { o.AccessLog, o.Registerer = log, registry })
	o := cluster("a.example", ca, server)
	o.Spec.Logging.Mode = v1alpha1.LogOn
	r.serve(o)
	client := r.client("a.example", ca.pair("ann"))
	r.ask(client, http.MethodGet, pods+"?token=s3cr3t", "Audit-Id", "x", "Authorization", "Bearer s3cr3t")
	r.ask(r.client("a.example"), http.MethodGet, pods)
	await.True(t, func() bool { return len(hook.AllEntries()) == 1 }, "the entry of the access log")
	entry := hook.LastEntry()
	require.Equal(t, logrus.InfoLevel, entry.Level)
	for field, want := range map[string]any{"cluster": "a.example", "verb": "list", "path": "/api/v1/namespaces/shop/pods", "code": 200, "user": "ann", "endpoint": server.URL, "auditID": "x"} {
		require.Equal(t, want, entry.Data[field], field)
	}
	text, err := entry.String()
	require.NoError(t, err)
	require.NotContains(t, text, "s3cr3t")
	families, err := registry.Gather()
	require.NoError(t, err)
	names := map[string]bool{}
	for _, f := range families {
		names[f.GetName()] = true
	}
	for _, want := range []string{
		"requests_total", "refused_requests_total", "request_duration_seconds", "requests_in_flight", "endpoint_ready", "endpoint_streams", "endpoint_connections", "endpoint_connections_opened_total", "cluster_accepted",
	} {
		require.True(t, names["netloom_gateway_"+want], want)
	}

	o = o.DeepCopy()
	o.Spec.DispatchPolicies[0].LogMode = v1alpha1.LogOff
	r.serve(o)
	hook.Reset()
	r.ask(client, http.MethodGet, pods)
	require.Empty(t, hook.AllEntries(), "off takes precedence")
}

func TestAudiencesAndCacheTimesArePassedOn(t *testing.T) {
	t.Parallel()
	r, server, _, _ := one(t, func(o *gateway.Options) {
		o.Audiences, o.TTL = []string{"gateway"}, identity.TTL{Positive: time.Hour, Negative: time.Hour}
	})
	server.change(func() { server.users["good"] = "bob" })
	client := r.client("a.example")
	for range 3 {
		require.Equal(t, 401, r.ask(client, http.MethodGet, pods, "Authorization", "Bearer good").code, "the cluster confirms no audience")
	}
	require.Equal(t, 1, server.reviewed())
}

// TestAFrontProxyIsTrusted sends the headers of a front proxy with the certificate of the proxy, and with others.
func TestAFrontProxyIsTrusted(t *testing.T) {
	t.Parallel()
	proxies := newAuthority(t)
	roots := x509.NewCertPool()
	roots.AddCert(proxies.cert)
	r, server, ca, _ := one(t, func(o *gateway.Options) { o.FrontProxy = identity.FrontProxy(roots, []string{"front-proxy"}) })
	headers := []string{"X-Remote-User", "bob", "X-Remote-Group", "dev", "X-Remote-Uid", "u1", "X-Remote-Extra-Scope", "view"}
	require.Equal(t, 200, r.ask(r.client("a.example", proxies.pair("front-proxy")), http.MethodGet, pods, headers...).code)
	h := server.request().Header
	require.Equal(t, []string{"bob"}, h["Impersonate-User"])
	require.Equal(t, []string{"dev"}, h["Impersonate-Group"])
	require.Equal(t, []string{"u1"}, h["Impersonate-Uid"])
	require.Equal(t, []string{"view"}, h["Impersonate-Extra-Scope"])
	require.Equal(t, 401, r.ask(r.client("a.example", proxies.pair("other")), http.MethodGet, pods, headers...).code)
	require.Equal(t, 401, r.ask(r.client("a.example", proxies.pair("front-proxy")), http.MethodGet, pods).code, "a proxy is nobody by itself")
	proxies.usages = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	require.Equal(t, 401, r.ask(r.client("a.example", proxies.pair("front-proxy")), http.MethodGet, pods, headers...).code, "a certificate of a server")
	require.Equal(t, 200, r.ask(r.client("a.example", ca.pair("ann")), http.MethodGet, pods, headers...).code)
	require.Equal(t, []string{"ann"}, server.request().Header["Impersonate-User"])
}

func TestReadinessSaysWhatIsNotServed(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	server, metrics := newAPIServer(t, ca), prometheus.NewRegistry()
	r := newRig(t, func(o *gateway.Options) { o.Registerer = metrics })
	health, state := r.gateway.Health(), registry.State{}
	ask := func(path string) (int, string) {
		w := httptest.NewRecorder()
		health.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		return w.Code, w.Body.String()
	}
	code, _ := ask("/readyz")
	require.Equal(t, 503, code)
	r.gateway.Source(func() registry.State { return state })
	code, _ = ask("/readyz")
	require.Equal(t, 503, code)
	state.Synced = true
	r.serve(cluster("a.example", ca, server))
	code, text := ask("/readyz")
	require.Equal(t, 200, code)
	require.Equal(t, "ok\n", text)
	const readable = "netloom_gateway_source_readable"
	require.InDelta(t, 1, sumOf(t, metrics, readable), 0)
	for _, state = range []registry.State{
		{Synced: true, Lost: time.Now(), Faults: []string{"s3cr3t"}},
		{Synced: true, Faults: []string{"s3cr3t"}}, // one of several files
	} {
		code, text = ask("/readyz")
		require.Equal(t, 200, code)
		require.Equal(t, "ok\nUpstreamClusters cannot be read; their last versions are served\n", text)
		require.InDelta(t, 0, sumOf(t, metrics, readable), 0)
	}
	state = registry.State{Synced: true}
	r.gateway.Clusters().Reject("a.example", errors.New("s3cr3t"))
	require.NoError(t, r.gateway.Clusters().Put(cluster("b.example", ca)))
	_, text = ask("/readyz")
	require.Equal(t, "ok\ncluster a.example: the newest version has faults\ncluster b.example: 0 of 0 API servers are ready\n", text)
	r.gateway.Clusters().Reject("a.example", errors.Join(registry.ErrDuplicate, errors.New("s3cr3t")))
	_, text = ask("/readyz")
	require.Contains(t, text, "ok\ncluster a.example: it is defined more than once, and the first definition, in order of file names, is used\n")
	r.stop()
	require.NoError(t, <-r.stopped)
	r.stopped <- nil
	code, _ = ask("/readyz")
	require.Equal(t, 503, code)
	code, _ = ask("/healthz")
	require.Equal(t, 200, code)
}

// TestTheManualListsEveryMetric compares the table in docs/gateway.md with what is registered.
func TestTheManualListsEveryMetric(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	log, _ := logtest.NewNullLogger()
	gateway.New(t.Context(), gateway.Options{Log: log, Registerer: registry})
	requireListed(t, registry, "netloom_gateway_")
}

// requireListed compares the metrics with a prefix in docs/gateway.md with those of a collector.
func requireListed(t *testing.T, from prometheus.Collector, prefix string) {
	t.Helper()
	manual, err := os.ReadFile("../../docs/gateway.md")
	require.NoError(t, err)
	described := make(chan *prometheus.Desc, 100)
	from.Describe(described)
	close(described)
	count := 0
	for d := range described {
		count++
		name := strings.Split(d.String(), `"`)[1]
		require.Regexp(t, "(?m)^\\| `"+name+"[`{]", string(manual))
	}
	require.Equal(t, strings.Count(string(manual), "| `"+prefix), count)
}

// TestAnAPIServerDies stops one of two API servers, whose health is checked rarely: no client notices, unless its request met the end of
// the connection. Such a request is not repeated, since the API server may have executed it.
func TestAnAPIServerDies(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	first, second := newAPIServer(t, ca), newAPIServer(t, ca)
	r := newRig(t, func(o *gateway.Options) { o.Probe.Interval = time.Hour })
	r.serve(cluster("a.example", ca, first, second))
	client := r.client("a.example", ca.pair("ann"))
	require.Equal(t, 200, r.ask(client, http.MethodGet, pods).code)
	first.CloseClientConnections()
	first.Close()
	dead := func() upstream.EndpointStatus { return r.gateway.Clusters().Endpoints("a.example")[0] }
	await.True(t, func() bool { return dead().Connections == 0 }, "its connections are noticed to be closed")
	for range 10 {
		got := r.send(client, http.MethodPost, pods, strings.NewReader("body"))
		require.Equal(t, 200, got.code, got.body)
		require.EqualValues(t, 4, second.request().Body)
	}
	require.False(t, dead().Ready)
}
