package daemon_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/serve"
)

// reviewer is an API that knows the token "prometheus", whose owner may get /metrics and the overview of the page.
func reviewer() *fake.Clientset {
	client := fake.NewClientset()
	client.PrependReactor("create", "tokenreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenReview)
		review.Status.Authenticated = review.Spec.Token == "prometheus"
		review.Status.User.Username = review.Spec.Token
		return true, review, nil
	})
	client.PrependReactor("create", "subjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview)
		path := review.Spec.NonResourceAttributes.Path
		review.Status.Allowed = path == "/metrics" || path == "/api/v1/overview"
		return true, review, nil
	})
	return client
}

// served is a daemon whose addresses are asked over the network.
type served struct {
	*testing.T
	health, debug, page string // URLs without a path
	hook                *logtest.Hook
}

// startServed starts a daemon and waits until it says where it listens.
func startServed(t *testing.T, change func(*daemon.Options)) *served {
	t.Helper()
	opts := newPlace(t).options()
	opts.Listen, opts.DebugListen, opts.Pprof = "127.0.0.1:0", "127.0.0.1:0", true
	change(&opts)
	log, hook := logtest.NewNullLogger()
	log.SetLevel(logrus.DebugLevel)
	d, err := daemon.New(opts, log)
	require.NoError(t, err)
	t.Cleanup(d.Close)
	r := startMade(t, d)
	s := &served{T: t, hook: hook, page: strings.TrimSuffix(d.UIAddress(), "/")}
	scheme := "http://"
	if opts.Serving.TLS {
		scheme = "https://"
	}
	r.await("the server", func() bool {
		for _, e := range hook.AllEntries() {
			if a, ok := e.Data["address"].(string); ok && e.Message == "serving health and metrics" {
				s.health = scheme + a
			} else if ok && e.Message == "serving debugging" {
				s.debug = "http://" + a
			}
		}
		return s.health != "" && s.debug != ""
	})
	return s
}

// get returns the status of a page. The certificate is not verified.
func (s *served) get(url, token string) int {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(s, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true,
	}}
	response, err := client.Do(request)
	require.NoError(s, err)
	_, _ = io.Copy(io.Discard, response.Body)
	require.NoError(s, response.Body.Close())
	return response.StatusCode
}

// TestWhoIsAskedForAToken asks for every page without a token, with one that opens some, and with an unknown one.
func TestWhoIsAskedForAToken(t *testing.T) {
	s := startServed(t, func(o *daemon.Options) {
		o.Serving = serve.Options{TLS: true, Kubernetes: true, Client: reviewer()}
		o.UIListen = "0.0.0.0:0"
	})
	require.Equal(t, 200, s.get(s.health+"/healthz", ""))
	require.NotEqual(t, 401, s.get(s.health+"/readyz", ""), "probes have no token")
	page := strings.Replace(s.page, "[::]", "127.0.0.1", 1)
	require.True(t, strings.HasPrefix(page, "https://"), page)
	for _, url := range []string{
		s.health + "/metrics", s.health + "/debug/ready", s.health + "/debug/snapshot", s.health + "/debug/manifests", s.health + "/debug/plan",
		s.health + "/debug/problems", s.health + "/debug/pprof/", s.health + "/debug/pprof/heap", s.health + "/debug/pprof/cmdline",
		s.health + "/debug/pprof/profile", s.health + "/debug/pprof/trace", s.health + "/debug/pprof/symbol", s.health + "/", s.health + "/healthz/",
		page + "/", page + "/api/v1/overview", page + "/api/v1/events", page + "/healthz/x",
	} {
		require.Equal(t, 401, s.get(url, ""), url)
		require.Equal(t, 401, s.get(url, "unknown"), url)
		want := 403
		if strings.HasSuffix(url, "/metrics") || strings.HasSuffix(url, "/overview") {
			want = 200
		}
		require.Equal(t, want, s.get(url, "prometheus"), url)
	}
}

// TestThePageOnLoopbackNeedsNoToken requests the page as a browser does through a forwarded port.
func TestThePageOnLoopbackNeedsNoToken(t *testing.T) {
	s := startServed(t, func(o *daemon.Options) {
		o.Serving = serve.Options{TLS: true, Kubernetes: true, Client: reviewer()}
		o.UIListen = "127.0.0.1:0"
	})
	require.True(t, strings.HasPrefix(s.page, "http://"), s.page)
	require.Equal(t, 200, s.get(s.page+"/", ""))
	require.Equal(t, 401, s.get(s.health+"/metrics", ""))
}

// TestWhatIsServedOnThePodsAddress checks that only health and metrics are, and that the rest is on a loopback address.
func TestWhatIsServedOnThePodsAddress(t *testing.T) {
	s := startServed(t, func(*daemon.Options) {})
	for _, path := range []string{"/healthz", "/metrics"} {
		require.Equal(t, 200, s.get(s.health+path, ""), path)
		require.Equal(t, 200, s.get(s.debug+path, ""), path)
	}
	for _, path := range []string{
		"/debug/ready", "/debug/snapshot", "/debug/manifests", "/debug/plan", "/debug/problems", "/debug/pprof/", "/debug/pprof/heap",
	} {
		require.Equal(t, 404, s.get(s.health+path, ""), path)
		require.NotEqual(t, 404, s.get(s.debug+path, ""), path)
	}
	for _, name := range []string{"evil.example", "netloom.netloom-system.svc"} {
		require.Equal(t, 421, s.as(name, s.debug+"/debug/manifests"), name)
		require.Equal(t, 421, s.as(name, s.health+"/metrics"), name)
	}
}

// TestHostNamesThatAreServed checks the setting, and that an address that is not a loopback address accepts any host name.
func TestHostNamesThatAreServed(t *testing.T) {
	s := startServed(t, func(o *daemon.Options) { o.Listen, o.Serving.Hosts = "0.0.0.0:0", []string{"*.svc"} })
	at := strings.Replace(s.health, "[::]", "127.0.0.1", 1)
	require.Equal(t, 200, s.as("netloom.netloom-system.svc:8080", at+"/metrics"))
	require.Equal(t, 200, s.as("192.0.2.1:8080", at+"/healthz"))
	require.Equal(t, 421, s.as("evil.example", at+"/healthz"))
}

// as returns the status of a page that is requested by a name of the server.
func (s *served) as(name, url string) int {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(s, err)
	request.Host = name
	response, err := http.DefaultClient.Do(request)
	require.NoError(s, err)
	require.NoError(s, response.Body.Close())
	return response.StatusCode
}

func TestTokensNeedAnAPIServer(t *testing.T) {
	opts := newPlace(t).options()
	opts.Serving.Kubernetes = true
	_, err := daemon.New(opts, testLog(t))
	require.EqualError(t, err, "requests cannot be authenticated: netloom reads no Kubernetes API that could review tokens")
}

// TestTLSBegins checks which versions are accepted, that plain HTTP is not, and that failures are reported only in the log.
func TestTLSBegins(t *testing.T) {
	s := startServed(t, func(o *daemon.Options) { o.Serving.TLS = true })
	at := strings.TrimPrefix(s.health, "https://")
	for version, good := range map[uint16]bool{
		tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true,
	} {
		dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version}}
		connection, err := dialer.DialContext(t.Context(), "tcp", at)
		require.Equal(t, good, err == nil, "%s: %v", tls.VersionName(version), err)
		if good {
			require.NoError(t, connection.Close())
		}
	}
	require.Equal(t, 400, s.get("http://"+at+"/metrics", ""))
	require.Equal(t, 200, s.get(s.health+"/metrics", ""), "tokens are not required")
	require.Contains(t, s.messages(), "a connection failed")
}

func (s *served) messages() []string {
	var all []string
	for _, e := range s.hook.AllEntries() {
		all = append(all, e.Message)
	}
	return all
}

// TestServingReadyNamesProblemsOnlyToReaders checks that only those who may read it are shown what is missing.
func TestServingReadyNamesProblemsOnlyToReaders(t *testing.T) {
	for _, tc := range []struct {
		who        serve.Options
		answer     string
		wantDetail bool
	}{
		{serve.Options{}, "the source has not synced\n", true},
		{serve.Options{TLS: true, Kubernetes: true, Client: reviewer()}, "not ready: for details, get /debug/ready with a token\n", false},
	} {
		opts := newSilentPlace(t).options()
		opts.Serving = tc.who
		d, err := daemon.New(opts, testLog(t))
		require.NoError(t, err)
		t.Cleanup(d.Close)
		r := &running{Daemon: d, t: t, handler: d.Handler()}
		code, text := r.get("/readyz")
		require.Equal(t, http.StatusServiceUnavailable, code)
		if tc.wantDetail {
			require.Contains(t, text, tc.answer)
		} else {
			require.Equal(t, tc.answer, text)
		}
		code, text = r.get("/debug/ready") // behind the guard
		require.Equal(t, http.StatusServiceUnavailable, code)
		require.Contains(t, text, "the source has not synced\n")
	}
	opts := newPlace(t).options()
	opts.Serving = serve.Options{TLS: true, Kubernetes: true, Client: reviewer()}
	r := startReady(t, opts)
	_, text := r.get("/readyz")
	require.True(t, isWell(text), text)
}
