package watchcache_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/netloom/netloom/pkg/gateway/watchcache"
	"github.com/netloom/netloom/test/seeds"
)

type authorize func(authorizer.Attributes) authorizer.Decision

func (f authorize) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	return f(a), "", nil
}

func allow(authorizer.Attributes) authorizer.Decision { return authorizer.DecisionAllow }

// rig is a cache in front of a model.
type rig struct {
	*testing.T
	api     *api
	cache   *watchcache.Cache
	clients []*client
}

func newRig(t *testing.T, change ...func(*watchcache.Config)) *rig {
	log := logrus.New()
	log.SetOutput(io.Discard)
	r := &rig{T: t, api: newAPI()}
	config := watchcache.Config{Upstream: r.api, Authorizer: authorize(allow), Log: log}
	for _, f := range change {
		f(&config)
	}
	var err error
	r.cache, err = watchcache.New(config)
	require.NoError(t, err)
	t.Cleanup(func() {
		r.cache.Close()
		for _, c := range r.clients {
			c.wait()
		}
	})
	return r
}

// ask sends a request and returns at once.
func (r *rig) ask(path string, q url.Values, edit ...func(*http.Request)) *client {
	return r.slowly(0, path, q, edit...)
}

// slowly is ask for a client that takes its time for each write.
func (r *rig) slowly(pace time.Duration, path string, q url.Values, edit ...func(*http.Request)) *client {
	ctx, cancel := context.WithCancel(request.WithUser(context.Background(), &user.DefaultInfo{Name: "jane"}))
	req := httptest.NewRequestWithContext(ctx, http.MethodGet, path+"?"+q.Encode(), http.NoBody)
	for _, f := range edit {
		f(req)
	}
	c := &client{header: http.Header{}, done: make(chan struct{}), cancel: cancel, pace: pace}
	r.clients = append(r.clients, c)
	go func() {
		defer close(c.done)
		c.handled = r.cache.Serve(c, req)
	}()
	return c
}

// wait returns the client when its answer is complete.
func (c *client) wait() *client {
	<-c.done
	return c
}

// list is the answer to a list.
type list struct {
	Kind, APIVersion string
	Metadata         struct {
		ResourceVersion, Continue string
		RemainingItemCount        *int
	}
	Items []json.RawMessage
}

func (r *rig) list(c *client) list {
	var l list
	require.NoError(r, json.Unmarshal([]byte(c.text()), &l), c.text())
	return l
}

// watchList are the parameters that reflectors send to begin.
func watchList(f filter) url.Values {
	q := f.query()
	q.Set("watch", "true")
	q.Set("sendInitialEvents", "true")
	q.Set("resourceVersionMatch", "NotOlderThan")
	q.Set("allowWatchBookmarks", "true")
	return q
}

func with(q url.Values, pairs ...string) url.Values {
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return q
}

func added(all []change) []string {
	var events []string
	for _, c := range all {
		events = append(events, "ADDED "+c.JSON(c.version, true))
	}
	return events
}

func TestManyWatchesShareOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for i := range 30 {
			r.api.write(change{ns: "a", key: fmt.Sprint("p", i), app: "web", node: fmt.Sprint("n", i%3)})
		}
		var clients []*client
		for i := range 50 {
			clients = append(clients, r.ask("/api/v1/pods", watchList(filter{node: fmt.Sprint("n", i%3)})))
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		at := r.api.now()
		for i, c := range clients {
			f := filter{node: fmt.Sprint("n", i%3)}
			require.Equal(t, append(added(r.api.state(f, at)), fmt.Sprintf("BOOKMARK %d end", at)), c.events())
		}
		r.api.write(change{ns: "a", key: "p0", app: "db", node: "n1"})
		synctest.Wait()
		for i, c := range clients {
			f := filter{node: fmt.Sprint("n", i%3)}
			events := c.events()
			require.Equal(t, r.api.events(f, at, at+1), append([]string(nil), events[len(r.api.state(f, at))+1:]...))
		}
		require.Equal(t, 1, r.api.lists, "lists of the upstream")
		require.LessOrEqual(t, r.api.open, 1, "watches of the upstream")
		require.Equal(t, 50, r.cache.Stats().Kinds[0].Watches)
		for _, c := range clients {
			c.cancel()
			c.wait()
		}
		require.Zero(t, r.cache.Stats().Kinds[0].Watches)
	})
}

func TestUpstreamDecidesWhatTheCacheCannot(t *testing.T) {
	for name, tc := range map[string]struct {
		path  string
		query string
		edit  func(*http.Request)
	}{
		"the most recent state":            {path: "/api/v1/pods"},
		"an unknown parameter":             {path: "/api/v1/pods", query: "resourceVersion=0&pretty=true"},
		"a parameter twice":                {path: "/api/v1/pods", query: "resourceVersion=0&resourceVersion=1"},
		"an unknown field":                 {path: "/api/v1/pods", query: "resourceVersion=0&fieldSelector=spec.host=x"},
		"a field of another kind":          {path: "/api/v1/namespaces", query: "resourceVersion=0&fieldSelector=metadata.namespace=x"},
		"a selector with an error":         {path: "/api/v1/pods", query: "resourceVersion=0&labelSelector=a=%3D%3Db"},
		"no number as version":             {path: "/api/v1/pods", query: "resourceVersion=x"},
		"exactly any version":              {path: "/api/v1/pods", query: "resourceVersion=0&resourceVersionMatch=Exact"},
		"not older than nothing":           {path: "/api/v1/pods", query: "resourceVersionMatch=NotOlderThan"},
		"a version that was never":         {path: "/api/v1/pods", query: "resourceVersion=999&resourceVersionMatch=Exact"},
		"not older than what was never":    {path: "/api/v1/pods", query: "resourceVersion=999"},
		"a version before the history":     {path: "/api/v1/pods", query: "resourceVersion=7&resourceVersionMatch=Exact"},
		"another's continue token":         {path: "/api/v1/pods", query: "continue=abc"},
		"a token and a version":            {path: "/api/v1/pods", query: "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTAwLCJzdGFydCI6ImEvYlx1MDAwMCJ9&resourceVersion=1"},
		"initial events without bookmarks": {path: "/api/v1/pods", query: "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"},
		"initial events without a match":   {path: "/api/v1/pods", query: "watch=1&sendInitialEvents=true&allowWatchBookmarks=true"},
		"no initial events":                {path: "/api/v1/pods", query: "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"},
		"one object":                       {path: "/api/v1/namespaces/a/pods/b"},
		"a subresource":                    {path: "/api/v1/namespaces/a/pods/b/log"},
		"a selector without a limit":       {path: "/api/v1/pods", query: "resourceVersion=0&labelSelector=" + strings.Repeat("a,", 64) + "b"},
		"no name of a namespace":           {path: "/api/v1/namespaces/../pods", query: "resourceVersion=0"},
		"a list of one object":             {path: "/api/v1/pods", query: "resourceVersion=0&fieldSelector=metadata.name=x"},
		"another kind":                     {path: "/api/v1/secrets", query: "resourceVersion=0"},
		"a kind the upstream does not have": {
			path: "/apis/policy.networking.k8s.io/v1alpha1/adminnetworkpolicies", query: "resourceVersion=0",
		},
		"a namespace of a cluster-wide kind": {path: "/api/v1/namespaces/a/nodes", query: "resourceVersion=0"},
		"a table": {path: "/api/v1/pods", query: "resourceVersion=0", edit: func(r *http.Request) {
			r.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
		}},
		"protobuf only": {path: "/api/v1/pods", query: "resourceVersion=0", edit: func(r *http.Request) {
			r.Header.Set("Accept", "application/vnd.kubernetes.protobuf")
		}},
		"metadata only": {path: "/api/v1/pods", query: "resourceVersion=0", edit: func(r *http.Request) {
			r.Header.Set("Accept", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json")
		}},
		"a write": {path: "/api/v1/pods", query: "resourceVersion=0", edit: func(r *http.Request) { r.Method = http.MethodDelete }},
		"a websocket": {path: "/api/v1/pods", query: "resourceVersion=0&watch=1", edit: func(r *http.Request) {
			r.Header.Set("Upgrade", "websocket")
		}},
		"nobody": {path: "/api/v1/pods", query: "resourceVersion=0", edit: func(r *http.Request) {
			*r = *r.WithContext(context.Background())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				q, err := url.ParseQuery(tc.query)
				require.NoError(t, err)
				c := r.ask(tc.path, q, func(req *http.Request) {
					if tc.edit != nil {
						tc.edit(req)
					}
				}).wait()
				require.False(t, c.handled, c.text())
				require.Empty(t, c.text())
				require.Empty(t, c.Header())
			})
		})
	}
}

func TestAccept(t *testing.T) {
	for _, accept := range []string{
		"", "application/json", "*/*", "application/json;stream=watch", "application/vnd.kubernetes.protobuf,application/json",
		"application/json;charset=utf-8",
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			c := r.ask("/api/v1/pods", url.Values{"resourceVersion": {"0"}}, func(req *http.Request) { req.Header.Set("Accept", accept) }).wait()
			require.True(t, c.handled, accept)
			require.Equal(t, "application/json", c.Header().Get("Content-Type"))
			require.Equal(t, "PodList", r.list(c).Kind)
		})
	}
}

func TestAuthorization(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []authorizer.Attributes
		r := newRig(t, func(c *watchcache.Config) {
			c.Authorizer = authorize(func(a authorizer.Attributes) authorizer.Decision {
				seen = append(seen, a)
				if a.GetNamespace() == "a" {
					return authorizer.DecisionAllow
				}
				return authorizer.DecisionNoOpinion
			})
		})
		q := url.Values{
			"watch": {"1"}, "timeoutSeconds": {"1"}, "resourceVersion": {"0"}, "fieldSelector": {"spec.nodeName=n1,metadata.name=x"},
			"labelSelector": {"app=web"},
		}
		require.True(t, r.ask("/api/v1/namespaces/a/pods", q).wait().handled)
		a := seen[0]
		fields, err := a.GetFieldSelector()
		require.NoError(t, err)
		labels, err := a.GetLabelSelector()
		require.NoError(t, err)
		require.Equal(t, "jane watch  v1 pods a x true [{= metadata.name x} {= spec.nodeName n1}] app=web", strings.TrimSpace(fmt.Sprint(
			a.GetUser().GetName(), " ", a.GetVerb(), " ", a.GetAPIGroup(), " ", a.GetAPIVersion(), " ", a.GetResource(), " ", a.GetNamespace(), " ",
			a.GetName(), " ", a.IsResourceRequest(), " ", fields, " ", labels[0].String())))
		require.False(t, r.ask("/api/v1/pods", watchList(filter{})).wait().handled, "allowed in a only")
		require.False(t, r.ask("/api/v1/pods", url.Values{"resourceVersion": {"0"}}).wait().handled)
		require.Equal(t, "list", seen[len(seen)-1].GetVerb())
	})
}

// TestContinueTokensCrossNoNamespace has tokens that another user, or nobody, was given.
func TestContinueTokensCrossNoNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for _, ns := range []string{"a", "b", "c"} {
			for _, key := range []string{"p", "q"} {
				r.api.write(change{ns: ns, key: key})
			}
		}
		all := r.list(r.ask("/api/v1/pods", url.Values{"resourceVersion": {"0"}}).wait())
		require.Len(t, all.Items, 6)
		for _, start := range []string{"/p\x00", "/a/p\x00", "/../b/p\x00", "/../a/p\x00", "/\x00\x00", "/b/p\x00", "//\x00", "/zzz\x00", "/A\x00"} {
			raw, err := json.Marshal(map[string]any{"v": "meta.k8s.io/v1", "rv": r.api.now(), "start": start})
			require.NoError(t, err)
			c := r.ask("/api/v1/namespaces/b/pods", url.Values{"limit": {"10"}, "continue": {base64.RawURLEncoding.EncodeToString(raw)}}).wait()
			if !c.handled {
				continue
			}
			for _, item := range r.list(c).Items {
				require.Contains(t, string(item), `"namespace":"b"`, "%q", start)
			}
		}
	})
}

func TestLostUpstream(t *testing.T) {
	start := func(t *testing.T) (*rig, *client) {
		r := newRig(t)
		r.api.write(change{ns: "a", key: "p", app: "web"})
		c := r.ask("/api/v1/pods", url.Values{"watch": {"1"}, "resourceVersion": {"0"}})
		time.Sleep(time.Second)
		require.Len(t, c.events(), 1)
		return r, c
	}
	later := func(r *rig) *client { return r.ask("/api/v1/pods", url.Values{"resourceVersion": {"0"}}).wait() }

	t.Run("for a moment: it resumes, and clients miss nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, c := start(t)
			r.api.set(true)
			r.api.disconnect(false)
			at := r.api.now()
			r.api.write(change{ns: "a", key: "p", app: "db"})
			r.api.write(change{ns: "a", key: "p", deleted: true})
			r.api.set(false)
			time.Sleep(10 * time.Second)
			require.Equal(t, r.api.events(filter{}, at, at+2), c.events()[1:])
			require.False(t, c.ended())
		})
	})
	t.Run("and it cannot resume: clients have to list again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, c := start(t)
			r.api.disconnect(true)
			c.wait()
			require.Equal(t, "ERROR 410", c.events()[1])
			c = later(r)
			require.True(t, c.handled)
			require.Equal(t, strconv.Itoa(r.api.now()), r.list(c).Metadata.ResourceVersion)
		})
	})
	t.Run("and it goes back in time, as a restored backup does", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, c := start(t)
			r.api.forget()
			r.api.mu.Lock()
			r.api.version = 50
			r.api.mu.Unlock()
			r.api.disconnect(false)
			c.wait()
			require.Equal(t, "ERROR 410", c.events()[1])
			time.Sleep(time.Second)
			c = later(r)
			require.Equal(t, "50", r.list(c).Metadata.ResourceVersion)
		})
	})
	t.Run("for long: watches end, and the upstream is asked", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, c := start(t)
			r.api.set(true)
			r.api.disconnect(false)
			require.True(t, later(r).handled, "not yet")
			time.Sleep(30 * time.Second)
			require.True(t, c.ended())
			require.Len(t, c.events(), 1, "no error: the client may resume")
			require.False(t, later(r).handled, "the cache does not answer with old states")
			r.api.set(false)
			time.Sleep(10 * time.Second)
			require.True(t, later(r).handled)
			resumed := r.ask("/api/v1/pods", url.Values{"watch": {"1"}, "resourceVersion": {strconv.Itoa(r.api.now())}})
			synctest.Wait()
			require.False(t, resumed.ended())
		})
	})
	t.Run("and is silent: it is watched again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, func(c *watchcache.Config) { c.Upstream = &silent{api: newAPI()} })
			require.True(t, r.ask("/api/v1/pods", url.Values{"resourceVersion": {"0"}}).wait().handled)
			time.Sleep(10 * time.Minute)
			require.GreaterOrEqual(t, r.cache.Stats().Kinds[0].UpstreamWatches, uint64(3))
		})
	})
}

// TestWatchesThatNoAPIServerSends has an upstream whose versions go back, and one that sends more than an object can have.
func TestWatchesThatNoAPIServerSends(t *testing.T) {
	event := func(version int, label string) string {
		return fmt.Sprintf(`{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p%d","namespace":"a","resourceVersion":"%d","labels":{"x":%q}}}}`+"\n",
			version, version, label)
	}
	for name, tc := range map[string]struct{ watch, want string }{
		"versions that go back": {event(150, "") + event(120, ""), "ERROR 410"},
		"a huge object":         {event(150, strings.Repeat("x", 33<<20)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := make(chan struct{})
				r := newRig(t, func(c *watchcache.Config) { c.Upstream = &scripted{newAPI(), begin, tc.watch} })
				c := r.ask("/api/v1/pods", url.Values{"watch": {"1"}, "resourceVersion": {"100"}})
				synctest.Wait()
				close(begin)
				time.Sleep(time.Second)
				events := strings.Join(c.events(), " ")
				require.Less(t, len(events), 1000)
				require.True(t, strings.HasSuffix(events, tc.want), events)
				if c := r.ask("/api/v1/pods", url.Values{"resourceVersion": {"0"}}).wait(); c.handled {
					require.Less(t, len(c.text()), 1000)
				}
			})
		})
	}
}

// scripted is an API whose watches deliver a text once begin is closed, and go on in silence.
type scripted struct {
	*api
	begin chan struct{}
	text  string
}

func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("watch") != "true" {
		return s.api.RoundTrip(r)
	}
	out, in := io.Pipe()
	context.AfterFunc(r.Context(), func() { _ = in.CloseWithError(errors.New("canceled")) })
	go func() {
		<-s.begin
		_, _ = io.WriteString(in, s.text)
	}()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: out}, nil
}

// silent is an API whose watches deliver nothing and do not end.
type silent struct{ *api }

func (s *silent) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("watch") != "true" {
		return s.api.RoundTrip(r)
	}
	out, in := io.Pipe()
	context.AfterFunc(r.Context(), func() { _ = in.CloseWithError(errors.New("canceled")) })
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: out}, nil
}

func TestSlowClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		slow := r.ask("/api/v1/pods", url.Values{"watch": {"1"}, "resourceVersion": {"0"}})
		brisk := r.ask("/api/v1/pods", url.Values{"watch": {"1"}, "resourceVersion": {"0"}})
		time.Sleep(time.Second)
		at := r.api.now()
		slow.stall()
		for i := range 200 { // more than a queue holds
			r.api.write(change{ns: "a", key: "p", app: fmt.Sprint(i)})
		}
		synctest.Wait()
		require.Equal(t, r.api.events(filter{}, at, r.api.now()), brisk.events(), "nobody waits for the slow one")
		time.Sleep(time.Minute)
		require.True(t, slow.ended())
		require.Equal(t, 1, r.cache.Stats().Kinds[0].Watches)
		require.False(t, brisk.ended())
	})
}

func TestHistoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		require.True(t, r.ask("/api/v1/pods", url.Values{"resourceVersion": {"0"}}).wait().handled)
		time.Sleep(time.Second)
		first := r.api.now()
		for i := range 4096 + 10 {
			r.api.forget() // the model is slow, and only the last change matters
			r.api.write(change{ns: "a", key: "p", app: fmt.Sprint(i)})
			synctest.Wait()
		}
		c := r.ask("/api/v1/pods", url.Values{"watch": {"1"}, "resourceVersion": {strconv.Itoa(first + 9)}}).wait()
		require.Equal(t, []string{"ERROR 410"}, c.events())
		c = r.ask("/api/v1/pods", url.Values{"watch": {"1"}, "resourceVersion": {strconv.Itoa(first + 10)}})
		synctest.Wait()
		require.Len(t, c.events(), 4096)
	})
}

func TestTrimmedObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(c *watchcache.Config) {
			c.Trimming = &watchcache.Trimming{Header: "Objects", Value: "small", Trim: func(_ schema.GroupVersionResource, raw []byte) ([]byte, error) {
				before, _, _ := strings.Cut(string(raw), `,"spec"`)
				return []byte(before + "}"), nil
			}}
		})
		r.api.write(change{ns: "a", key: "p", app: "web", node: "n"})
		trimmed := func(req *http.Request) { req.Header.Set("Objects", "small") }
		c := r.ask("/api/v1/pods", url.Values{"resourceVersion": {"0"}}, trimmed).wait()
		require.Equal(t, "small", c.Header().Get("Objects"))
		require.NotContains(t, c.text(), "spec")
		require.Contains(t, c.text(), `"resourceVersion":"101"`)
		c = r.ask("/api/v1/pods", url.Values{"resourceVersion": {"0"}}).wait()
		require.Contains(t, c.text(), "spec", "only on request")
		require.Empty(t, c.Header().Get("Objects"))
		c = r.ask("/api/v1/pods", url.Values{"resourceVersion": {"0"}}, func(req *http.Request) { req.Header.Set("Objects", "tiny") }).wait()
		require.Contains(t, c.text(), "spec", "another version trims to another form")
		c = r.ask("/api/v1/pods", url.Values{"resourceVersion": {"0"}, "watch": {"1"}, "timeoutSeconds": {"1"}}, trimmed).wait()
		require.NotContains(t, c.text(), "spec")
		require.Len(t, c.events(), 1)
	})
}

func TestRandomRequests(t *testing.T) {
	seeds.Each(t, "watchcache", func(t *testing.T, seed uint64) {
		synctest.Test(t, func(t *testing.T) { (&random{rig: newRig(t), rand: rand.New(rand.NewSource(int64(seed)))}).run() })
	})
}
