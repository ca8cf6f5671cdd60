//go:build e2e

package e2ekube_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/netloom/netloom/pkg/gateway/transport"
	"github.com/netloom/netloom/pkg/gateway/watchcache"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// sharing is a watch cache in front of an API server; what the cache leaves is proxied.
type sharing struct {
	*testing.T
	kube    *kubelab.Lab
	direct  http.RoundTripper
	server  *httptest.Server
	cache   *watchcache.Cache
	proxied atomic.Int64 // requests that the cache left
	watches atomic.Int64 // watches of pods that reach the API server now
}

type everyone struct{}

func (everyone) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionAllow, "", nil
}

func newSharing(t *testing.T) *sharing {
	s := &sharing{T: t, kube: startKube(t)}
	config := s.kube.Config()
	require.NoError(t, rest.LoadTLSFiles(config))
	endpoint, err := url.Parse(config.Host)
	require.NoError(t, err)
	upstream, err := transport.New(endpoint, transport.Config{CA: config.CAData, Cert: config.CertData, Key: config.KeyData})
	require.NoError(t, err)
	t.Cleanup(upstream.Close)
	s.direct = upstream
	log := logrus.New()
	log.SetOutput(t.Output())
	s.cache, err = watchcache.New(watchcache.Config{
		Upstream: s, Authorizer: everyone{}, Log: log,
		Trimming: &watchcache.Trimming{Header: source.HeaderObjects, Value: source.Trimmed(), Trim: source.TrimJSON},
	})
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{Transport: s, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(endpoint) }, FlushInterval: -1}
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(request.WithUser(r.Context(), &user.DefaultInfo{Name: "admin"}))
		if !s.cache.Serve(w, r) {
			s.proxied.Add(1)
			proxy.ServeHTTP(w, r)
		}
	}))
	s.server.EnableHTTP2 = true
	s.server.StartTLS()
	t.Cleanup(func() {
		s.cache.Close()
		s.server.CloseClientConnections()
		s.server.Close()
	})
	return s
}

// RoundTrip sends a request to the API server and counts watches of pods.
func (s *sharing) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.direct.RoundTrip(r)
	if err == nil && r.URL.Path == "/api/v1/pods" && r.URL.Query().Has("watch") {
		s.watches.Add(1)
		context.AfterFunc(r.Context(), func() { s.watches.Add(-1) })
	}
	return resp, err
}

// config configures clients of the cache.
func (s *sharing) config() *rest.Config {
	return &rest.Config{Host: s.server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: -1}
}

func (s *sharing) namespace(name string) {
	_, err := s.kube.Client().CoreV1().Namespaces().Create(s.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(s, err)
	await.True(s, func() bool {
		_, err := s.kube.Client().CoreV1().ServiceAccounts(name).Get(s.Context(), "default", metav1.GetOptions{})
		return err == nil
	}, "pods may be created")
}

func (s *sharing) pod(namespace, name, app, node string) *corev1.Pod {
	p, err := s.kube.Client().CoreV1().Pods(namespace).Create(s.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	require.NoError(s, err)
	return p
}

// relabel changes the label of a pod.
func (s *sharing) relabel(namespace, name, app string) *corev1.Pod {
	patch := fmt.Sprintf(`{"metadata":{"labels":{"app":%q}}}`, app)
	p, err := s.kube.Client().CoreV1().Pods(namespace).Patch(s.Context(), name, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{})
	require.NoError(s, err)
	return p
}

func (s *sharing) delete(namespace, name string) {
	none := int64(0)
	require.NoError(s, s.kube.Client().CoreV1().Pods(namespace).Delete(s.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &none}))
}

// withoutWatchList lists and watches as clients did before WatchList.
type withoutWatchList struct{ *cache.ListWatch }

func (withoutWatchList) IsWatchListSemanticsUnSupported() bool { return true }

// TestInformersShareAWatch runs client-go's informers of both kinds, typed and untyped, through the cache during changes.
func TestInformersShareAWatch(t *testing.T) {
	t.Parallel()
	s := newSharing(t)
	s.namespace("a")
	for i := range 20 {
		s.pod("a", fmt.Sprint("early-", i), "web", "")
	}
	typed, err := kubernetes.NewForConfig(protobuf(s.config()))
	require.NoError(t, err)
	untyped, err := dynamic.NewForConfig(s.config())
	require.NoError(t, err)
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	var informers []cache.SharedIndexInformer
	for i := range 40 {
		lw := &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return typed.CoreV1().Pods("").List(ctx, o)
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return typed.CoreV1().Pods("").Watch(ctx, o)
			},
		}
		var from cache.ListerWatcher = lw
		var of runtime.Object = &corev1.Pod{}
		switch i % 4 {
		case 0:
			from = withoutWatchList{lw}
		case 1:
			of = &unstructured.Unstructured{}
			lw.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return untyped.Resource(pods).List(ctx, o)
			}
			lw.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return untyped.Resource(pods).Watch(ctx, o)
			}
		}
		informer := cache.NewSharedIndexInformer(from, of, 0, cache.Indexers{})
		go informer.RunWithContext(t.Context())
		informers = append(informers, informer)
	}
	for i := range 30 {
		s.pod("a", fmt.Sprint("p-", i), "web", "")
		s.relabel("a", fmt.Sprint("p-", i), "db")
		if i%3 == 0 {
			s.delete("a", fmt.Sprint("p-", i))
		}
	}
	list, err := s.kube.Client().CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	want := map[string]string{}
	for _, p := range list.Items {
		want[p.Namespace+"/"+p.Name] = p.ResourceVersion
	}
	for i, informer := range informers {
		await.True(t, func() bool {
			got := map[string]string{}
			for _, o := range informer.GetStore().List() {
				m, ok := o.(metav1.Object)
				require.True(t, ok)
				got[m.GetNamespace()+"/"+m.GetName()] = m.GetResourceVersion()
			}
			return fmt.Sprint(got) == fmt.Sprint(want)
		}, "informer %d has what the API server has", i)
	}
	require.Zero(t, s.proxied.Load(), "everything came from the cache")
	require.LessOrEqual(t, s.watches.Load(), int64(2), "one watch, and one that catches up")
	require.Equal(t, 40, s.cache.Stats().Kinds[0].Watches)
}

func protobuf(c *rest.Config) *rest.Config {
	c.ContentType, c.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	return c
}

// read sends a GET and returns its body, decoded, and the error that it ended with, if any; a watch until it ends.
func (s *sharing) read(through http.RoundTripper, base, path string, q url.Values) (int, []any) {
	req, err := http.NewRequestWithContext(s.Context(), http.MethodGet, base+path+"?"+q.Encode(), http.NoBody)
	if err != nil {
		return 0, []any{err}
	}
	req.Header.Set("Accept", "application/json")
	resp, err := through.RoundTrip(req)
	if err != nil {
		return 0, []any{err}
	}
	defer func() { _ = resp.Body.Close() }()
	var all []any
	for d := json.NewDecoder(resp.Body); ; {
		var v any
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return resp.StatusCode, all
		} else if err != nil {
			return resp.StatusCode, append(all, err)
		}
		all = append(all, v)
	}
}

// compare sends the same request to the cache and to the API server, and requires the same answer.
func (s *sharing) compare(path string, q url.Values, cached bool) []any {
	before := s.proxied.Load()
	var wantCode int
	var want []any
	direct := make(chan struct{})
	go func() {
		defer close(direct)
		wantCode, want = s.read(s.direct, s.kube.Config().Host, path, q)
	}()
	code, got := s.read(s.server.Client().Transport, s.server.URL, path, q)
	<-direct
	require.Equal(s, cached, s.proxied.Load() == before, "%s %s: answered by the cache?", path, q)
	require.Equal(s, wantCode, code)
	require.Equal(s, events(want), events(got), "%s %s", path, q)
	return got
}

// forwarded requires that the API server itself answers for the most recent state. The answer is not compared: whatever the API server
// writes in the meantime changes its version.
func (s *sharing) forwarded(path string) {
	before := s.proxied.Load()
	code, _ := s.read(s.server.Client().Transport, s.server.URL, path, nil)
	require.Equal(s, http.StatusOK, code)
	require.Greater(s, s.proxied.Load(), before, "%s: answered by the cache?", path)
}

// events leaves out bookmarks, whose times differ, and the wording of errors.
func events(all []any) []any {
	var kept []any
	for _, v := range all {
		m, ok := v.(map[string]any)
		if ok && m["type"] == "BOOKMARK" {
			continue
		}
		if status, is := m["object"].(map[string]any); is && m["type"] == "ERROR" {
			delete(status, "message")
		}
		kept = append(kept, v)
	}
	return kept
}

// TestAnswersEqualTheAPIServers compares lists and watches with those of the API server, object for object.
func TestAnswersEqualTheAPIServers(t *testing.T) {
	t.Parallel()
	s := newSharing(t)
	s.namespace("a")
	s.namespace("b")
	const pods = "/api/v1/pods"
	s.forwarded(pods)
	s.read(s.server.Client().Transport, s.server.URL, pods, url.Values{"resourceVersion": {"0"}})
	first := s.pod("a", "p1", "web", "n1")
	second := s.pod("a", "p2", "db", "n2")
	s.pod("b", "p3", "web", "n1")
	s.relabel("a", "p1", "db")
	s.relabel("a", "p2", "web")
	s.delete("b", "p3")
	last := s.pod("b", "p4", "web", "")
	s.sync(last)

	for _, path := range []string{pods, "/api/v1/namespaces/a/pods"} {
		for _, selector := range []url.Values{
			{},
			{"labelSelector": {"app=web"}},
			{"labelSelector": {"app!=web,app"}},
			{"fieldSelector": {"spec.nodeName=n1"}},
			{"fieldSelector": {"metadata.name=p1"}, "labelSelector": {"app in (web,db)"}},
			{"fieldSelector": {"status.phase!=Pending"}},
			{"fieldSelector": {"spec.nodeName="}},
			{"fieldSelector": {"metadata.namespace=b"}},
		} {
			with := func(pairs ...string) url.Values {
				q := url.Values{}
				for k, v := range selector {
					q[k] = v
				}
				for i := 0; i < len(pairs); i += 2 {
					q.Set(pairs[i], pairs[i+1])
				}
				return q
			}
			many := !strings.Contains(selector.Get("fieldSelector"), "metadata.name=") // the API server gets one object
			s.compare(path, with("resourceVersion", last.ResourceVersion, "resourceVersionMatch", "Exact"), many)
			s.compare(path, with("resourceVersion", second.ResourceVersion, "resourceVersionMatch", "Exact"), many)
			s.compare(path, with("resourceVersion", last.ResourceVersion, "limit", "1"), many)
			s.compare(path, with("watch", "1", "resourceVersion", first.ResourceVersion, "timeoutSeconds", "1"), true)
		}
	}
	s.compare("/api/v1/namespaces/none/pods", url.Values{"resourceVersion": {last.ResourceVersion}, "resourceVersionMatch": {"Exact"}}, true)
	s.comparePages(last)
	s.compareErrors(pods)
	for _, path := range []string{
		"/api/v1/namespaces", "/api/v1/nodes", "/api/v1/services", "/apis/discovery.k8s.io/v1/endpointslices",
		"/apis/networking.k8s.io/v1/networkpolicies",
	} {
		_, answer := s.read(s.server.Client().Transport, s.server.URL, path, url.Values{"resourceVersion": {"0"}})
		_, direct := s.read(s.direct, s.kube.Config().Host, path, url.Values{"resourceVersion": {"0"}})
		require.Equal(t, items(direct), items(answer), path)
	}
	s.compare("/apis/policy.networking.k8s.io/v1alpha2/clusternetworkpolicies", url.Values{"resourceVersion": {"0"}}, false)
}

func items(list []any) any { return list[0].(map[string]any)["items"] } //nolint:forcetypeassert // the answer of an API

// sync waits until the cache has an object.
func (s *sharing) sync(p *corev1.Pod) {
	q := url.Values{"resourceVersion": {p.ResourceVersion}, "resourceVersionMatch": {"NotOlderThan"}}
	before := s.proxied.Load()
	code, _ := s.read(s.server.Client().Transport, s.server.URL, "/api/v1/pods", q)
	require.Equal(s, http.StatusOK, code)
	require.Equal(s, before, s.proxied.Load())
}

func (s *sharing) compareErrors(path string) {
	for _, q := range []url.Values{
		{"resourceVersion": {"x"}},
		{"resourceVersionMatch": {"Exact"}},
		{"labelSelector": {"a=b=c"}},
		{"fieldSelector": {"spec.none=x"}},
		{"continue": {"none"}},
		{"resourceVersion": {"1"}, "resourceVersionMatch": {"Any"}},
		{"watch": {"1"}, "sendInitialEvents": {"true"}},
	} {
		s.compare(path, q, false)
	}
	s.kube.Compact()
	s.compare(path, url.Values{"resourceVersion": {"2"}, "resourceVersionMatch": {"Exact"}}, false)
	_, got := s.read(s.server.Client().Transport, s.server.URL, path, url.Values{"watch": {"1"}, "resourceVersion": {"2"}, "timeoutSeconds": {"1"}})
	status, err := json.Marshal(got[0])
	require.NoError(s, err)
	require.Contains(s, string(status), `"code":410`)
	client, err := kubernetes.NewForConfig(s.config())
	require.NoError(s, err)
	w, err := client.CoreV1().Pods("").Watch(s.Context(), metav1.ListOptions{ResourceVersion: "2"})
	require.NoError(s, err)
	defer w.Stop()
	require.True(s, apierrors.IsResourceExpired(apierrors.FromObject((<-w.ResultChan()).Object)))
}

// comparePages begins a list at one and continues it at the other: the tokens mean the same.
func (s *sharing) comparePages(last *corev1.Pod) {
	for _, path := range []string{"/api/v1/pods", "/api/v1/namespaces/a/pods"} {
		exact := url.Values{"resourceVersion": {last.ResourceVersion}, "limit": {"1"}}
		token := func(list []any) string {
			text, ok := list[0].(map[string]any)["metadata"].(map[string]any)["continue"].(string)
			require.True(s, ok)
			return text
		}
		_, ours := s.read(s.server.Client().Transport, s.server.URL, path, exact)
		_, theirs := s.read(s.direct, s.kube.Config().Host, path, exact)
		require.Equal(s, token(theirs), token(ours))
		s.compare(path, url.Values{"continue": {token(ours)}, "limit": {"1"}}, true)
		s.compare(path, url.Values{"continue": {token(theirs)}}, true)
	}
}

// TestWatchesBeginWithTheMostRecentState writes directly and begins a watch through the cache at once.
func TestWatchesBeginWithTheMostRecentState(t *testing.T) {
	t.Parallel()
	s := newSharing(t)
	s.namespace("a")
	q := url.Values{
		"watch": {"1"}, "sendInitialEvents": {"true"}, "resourceVersionMatch": {"NotOlderThan"}, "allowWatchBookmarks": {"true"},
		"timeoutSeconds": {"4"},
	}
	for i := range 2 {
		name := fmt.Sprint("p", i)
		s.pod("a", name, "web", "")
		s.namespace(name) // versions of pods do not change, and the version of the API server does
		_, got := s.read(s.server.Client().Transport, s.server.URL, "/api/v1/namespaces/a/pods", q)
		text, err := json.Marshal(got)
		require.NoError(t, err)
		before, _, marked := strings.Cut(string(text), "initial-events-end")
		require.True(t, marked)
		require.Contains(t, before, `"name":"`+name+`"`)
	}
	require.Zero(t, s.proxied.Load(), "the cache catches up in time")
}
