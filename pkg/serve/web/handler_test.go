package web_test

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/serve/web"
)

func TestThePageIsServedWithItsParts(t *testing.T) {
	s := serve(shop(t))
	for path, kind := range map[string]string{
		"/": "text/html; charset=utf-8", "/app.js": "text/javascript; charset=utf-8", "/style.css": "text/css; charset=utf-8",
		"/icon.svg": "image/svg+xml",
	} {
		w := s.get(t, path)
		require.Equal(t, http.StatusOK, w.Code, path)
		require.Equal(t, kind, w.Header().Get("Content-Type"))
		require.Equal(t, "no-cache", w.Header().Get("Cache-Control"))
		again := s.get(t, path, "If-None-Match", w.Header().Get("ETag"))
		require.Equal(t, http.StatusNotModified, again.Code)
		require.Empty(t, again.Body.Bytes())
	}
	require.Equal(t, http.StatusNotFound, s.get(t, "/index.html").Code)
	require.Equal(t, http.StatusNotFound, s.get(t, "/static/").Code)
}

// TestTheRootOfTheAPIListsItsPaths and each of them answers, if only with what is missing.
func TestTheRootOfTheAPIListsItsPaths(t *testing.T) {
	s := serve(shop(t))
	w := s.get(t, "/api/v1/")
	require.Equal(t, http.StatusOK, w.Code)
	var root struct {
		Paths []string `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &root))
	require.Contains(t, root.Paths, "/api/v1/overview")
	require.Contains(t, root.Paths, "/api/v1/policies/{namespace}/{name}/rows")
	require.IsIncreasing(t, root.Paths)
	for _, path := range root.Paths {
		if path != "/api/v1/events" { // a stream
			require.NotContains(t, s.get(t, path).Body.String(), "no such path", path)
		}
	}
	require.Equal(t, http.StatusNotFound, s.get(t, "/api/v1/nothing").Code)
}

func TestEveryAnswerGuardsThePage(t *testing.T) {
	s := serve(shop(t))
	for _, path := range []string{"/", "/app.js", "/api/v1/overview", "/api/v1/nothing", "/nothing"} {
		h := s.get(t, path, "Origin", "https://example.com").Header()
		require.Contains(t, h.Get("Content-Security-Policy"), "default-src 'self'; ", path)
		require.NotContains(t, h.Get("Content-Security-Policy"), "unsafe", path)
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), path)
		require.Equal(t, "same-origin", h.Get("Cross-Origin-Resource-Policy"), path)
		require.Empty(t, h.Get("Access-Control-Allow-Origin"), path)
	}
	require.Equal(t, "no-store", s.get(t, "/api/v1/overview").Header().Get("Cache-Control"))
	require.Equal(t, "no-store", s.get(t, "/api/v1/nothing").Header().Get("Cache-Control"))
}

func TestNothingCanBeChanged(t *testing.T) {
	s := serve(shop(t))
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions} {
		for _, path := range []string{"/", "/api/v1/overview", "/api/v1/events"} {
			w := s.ask(t, method, path)
			require.Equal(t, http.StatusMethodNotAllowed, w.Code, "%s %s", method, path)
			require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
		}
	}
	require.Equal(t, http.StatusOK, s.ask(t, http.MethodHead, "/api/v1/overview").Code)
	require.Equal(t, http.StatusOK, s.ask(t, http.MethodHead, "/api/v1/events").Code)
}

func TestAnAnswerIsSentOnce(t *testing.T) {
	source := shop(t)
	s := serve(source)
	first := s.get(t, "/api/v1/matrix")
	tag := first.Header().Get("ETag")
	require.NotEmpty(t, tag)
	again := s.get(t, "/api/v1/matrix", "If-None-Match", tag)
	require.Equal(t, http.StatusNotModified, again.Code)
	require.Empty(t, again.Body.Bytes())

	source.state.Number++
	source.state.State = stateOf(t, nil)
	another := s.get(t, "/api/v1/matrix", "If-None-Match", tag)
	require.Equal(t, http.StatusOK, another.Code)
	require.NotContains(t, another.Body.String(), "tools", "another state")
	other := web.New(web.Options{Source: source, Feed: web.NewFeed(moment.AddDate(0, 0, 1))})
	source.state.Number--
	require.Equal(t, http.StatusOK, (&server{other, nil}).get(t, "/api/v1/matrix", "If-None-Match", tag).Code, "another process")
	require.Empty(t, s.get(t, "/api/v1/matrix?port=x").Header().Get("ETag"), "a fault has no tag")
}

func TestLargeAnswersAreCompressed(t *testing.T) {
	s := serve(shop(t))
	plain := s.get(t, "/api/v1/why?from=shop/web-*&to=svc/shop/db")
	require.Empty(t, plain.Header().Get("Content-Encoding"))
	zipped := s.get(t, "/api/v1/why?from=shop/web-*&to=svc/shop/db", "Accept-Encoding", "br, gzip;q=0.8")
	require.Equal(t, "gzip", zipped.Header().Get("Content-Encoding"))
	require.Less(t, zipped.Body.Len(), plain.Body.Len())
	z, err := gzip.NewReader(zipped.Body)
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Equal(t, plain.Body.String(), string(text))
	require.Empty(t, s.get(t, "/api/v1/overview", "Accept-Encoding", "gzip").Header().Get("Content-Encoding"), "a small one is not")
	require.Empty(t, s.get(t, "/api/v1/why?from=shop/web-*&to=svc/shop/db", "Accept-Encoding", "gzip;q=0").Header().Get("Content-Encoding"))
	require.Equal(t, "gzip", s.get(t, "/app.js", "Accept-Encoding", "gzip").Header().Get("Content-Encoding"))
}

func TestThereIsNothingToSeeBeforeTheFirstState(t *testing.T) {
	s := serve(&source{})
	for _, path := range []string{"overview", "matrix", "policies", "why?from=a&to=b"} {
		w := s.get(t, "/api/v1/"+path)
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		require.Contains(t, w.Body.String(), "the source has not synced")
	}
	require.Equal(t, http.StatusOK, s.get(t, "/api/v1/targets").Code)
	require.Equal(t, http.StatusOK, s.get(t, "/").Code)
}

func TestSkipsAreBounded(t *testing.T) {
	source := shop(t)
	source.targets[0].Skips = make([]web.Skip, 80)
	var got struct{ Targets []web.Target }
	require.NoError(t, json.Unmarshal(serve(source).get(t, "/api/v1/targets").Body.Bytes(), &got))
	require.Len(t, got.Targets[0].Skips, 50)
	require.Equal(t, 30, got.Targets[0].MoreSkips)
	require.Len(t, source.targets[0].Skips, 80)
}

// TestTheLibraryIsThePinnedOne compares what the page has from npm with what `make page-library` took from there.
func TestTheLibraryIsThePinnedOne(t *testing.T) {
	text, err := os.ReadFile("npm/checksums")
	require.NoError(t, err)
	sum, file, _ := strings.Cut(strings.TrimSpace(string(text)), "  ")
	require.Equal(t, "dagre.js", file)
	body := serve(shop(t)).get(t, "/dagre.js").Body.Bytes()
	require.Equal(t, sum, fmt.Sprintf("%x", sha256.Sum256(body)))
	require.Contains(t, string(body[:200]), "@license")
	for _, name := range []string{"package.json", "package-lock.json"} {
		pin, err := os.ReadFile("npm/" + name)
		require.NoError(t, err)
		require.Contains(t, string(pin), `"@dagrejs/dagre": "3.1.3"`, "an exact version")
	}
	require.Regexp(t, `"3\.1\.3"`, string(body), "the version that the library says it is")
}
