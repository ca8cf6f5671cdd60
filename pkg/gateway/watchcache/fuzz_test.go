package watchcache_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/netloom/netloom/pkg/gateway/watchcache"
)

// FuzzLists sends lists with any path, parameters and Accept header. What is answered is one JSON object; what is not leaves
// no trace.
func FuzzLists(f *testing.F) {
	f.Add("/api/v1/pods", "resourceVersion=0&limit=1", "application/json")
	f.Add("/api/v1/namespaces/a/pods", "resourceVersion=101&resourceVersionMatch=Exact&labelSelector=app%3Dweb", "")
	f.Add("/api/v1/pods", "resourceVersion=102&limit=1&fieldSelector=spec.nodeName%3Dn", "application/vnd.kubernetes.protobuf,application/json")
	f.Add("/api/v1/pods", "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTAyLCJzdGFydCI6Ii9hL3AwXHUwMDAwIn0&limit=1", "*/*")
	f.Add("/api/v1//pods", "resourceVersion=%30", "application/json;as=Table")
	a := newAPI()
	for _, name := range []string{"p0", "p1", "p2"} {
		a.write(change{ns: "a", key: name, app: "web", node: "n"})
	}
	log := logrus.New()
	log.SetOutput(io.Discard)
	cache, err := watchcache.New(watchcache.Config{Upstream: a, Authorizer: authorize(allow), Log: log, StaleAfter: time.Hour})
	require.NoError(f, err)
	f.Cleanup(cache.Close)
	f.Fuzz(func(t *testing.T, path, query, accept string) {
		if parameters, err := url.ParseQuery(query); err != nil || parameters.Has("watch") || len(parameters.Get("resourceVersion")) > 3 {
			return // a watch has no end, and a version of the future takes some time
		}
		r := httptest.NewRequestWithContext(request.WithUser(t.Context(), &user.DefaultInfo{Name: "jane"}), http.MethodGet, "/", http.NoBody)
		r.URL = &url.URL{Path: path, RawQuery: query}
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		if !cache.Serve(w, r) {
			require.Empty(t, w.Body.Bytes())
			require.Empty(t, w.Header())
			return
		}
		var list struct{ Kind string }
		d := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
		require.NoError(t, d.Decode(&list))
		require.Contains(t, list.Kind, "List")
		require.False(t, d.More())
	})
}
