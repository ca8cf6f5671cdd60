package tungsten_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	simulator "github.com/netloom/netloom/pkg/simulator/tungsten"
)

// FuzzRequests sends any body to any path: the server answers, and everything that it stores can be read.
func FuzzRequests(f *testing.F) {
	for line := range bytes.Lines(recorded) {
		var s step
		require.NoError(f, json.Unmarshal(line, &s))
		if s.Body != nil && !strings.Contains(string(s.Body), "repeat:") {
			f.Add(s.Method, strings.ReplaceAll(s.Path, "${", "{"), []byte(s.Body))
		}
	}
	f.Fuzz(func(t *testing.T, method, path string, body []byte) {
		if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "/watch") {
			return
		}
		r, err := http.NewRequestWithContext(t.Context(), method, "http://controller", bytes.NewReader(body))
		if err != nil {
			return
		}
		r.URL.Path, r.URL.RawQuery, _ = strings.Cut(path, "?")
		r.Header.Set("Content-Type", "application/json")
		s := simulator.New(simulator.Options{})
		defer s.Close()
		for _, tag := range []string{"web", "db"} {
			do(t, s, http.MethodPost, "/tags", `{"tag":{"fq_name":["x"],"tag_type_name":"label","tag_value":"`+tag+`"}}`)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		require.GreaterOrEqual(t, w.Code, http.StatusOK)
		for _, kind := range []string{"tags", "tag-types", "address-groups", "service-groups", "firewall-rules", "firewall-policys", "projects"} {
			require.True(t, json.Valid([]byte(do(t, s, http.MethodGet, "/"+kind+"?detail=true", ""))))
		}
	})
}

// do sends a request within the goroutine of the test and returns the body of the answer.
func do(t *testing.T, s *simulator.Server, method, path, body string) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	return w.Body.String()
}
