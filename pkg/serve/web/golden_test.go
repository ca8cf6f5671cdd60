package web_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnswers compares the JSON that scripts rely on: names stay.
func TestAnswers(t *testing.T) {
	s := serve(observed(t))
	for _, tc := range []struct {
		name, path string
		wantStatus int
	}{
		{"overview", "overview", http.StatusOK},
		{"matrix-of-namespaces", "matrix", http.StatusOK},
		{"matrix-of-classes", "matrix?from=shop&to=shop", http.StatusOK},
		{"matrix-of-a-port", "matrix?from=shop&to=shop&port=5432", http.StatusOK},
		{"matrix-from-outside", "matrix?from=(outside)&to=shop&toLabels=app%3Ddb", http.StatusOK},
		{"map-of-namespaces", "connections", http.StatusOK},
		{"map-of-workloads", "connections?open=shop&port=5432", http.StatusOK},
		{"map-of-labels", "connections?labels=app%3Ddb&policed=true&open=shop,tools", http.StatusOK},
		{"map-of-an-unknown-namespace", "connections?open=attic", http.StatusNotFound},
		{"map-of-invalid-labels", "connections?labels=%3D%3D", http.StatusBadRequest},
		{"seen", "connections/seen?open=shop", http.StatusOK},
		{"seen-on-a-port", "connections/seen?port=icmp", http.StatusOK},
		{"seen-in-an-invalid-time", "connections/seen?since=yesterday", http.StatusBadRequest},
		{"policies", "policies", http.StatusOK},
		{"policies-by-name", "policies?q=UNF", http.StatusOK},
		{"policy", "policies/shop/db", http.StatusOK},
		{"policy-with-a-problem", "policies/shop/unfinished", http.StatusOK},
		{"unknown-policy", "policies/shop/missing", http.StatusNotFound},
		{"rows", "policies/shop/db/rows", http.StatusOK},
		{"targets", "targets", http.StatusOK},
		{"views", "views", http.StatusOK},
		{"why", "why?from=tools/shell&to=shop/db-0&port=http/80", http.StatusBadRequest},
		{"why-denied", "why?from=tools/shell&to=shop/db-0&port=tcp/5432", http.StatusOK},
		{"why-of-a-service", "why?from=shop/web-*&to=svc/shop/db", http.StatusOK},
		{"why-of-an-unknown-pod", "why?from=tools/shel&to=shop/db-0&port=80", http.StatusNotFound},
		{"why-of-nothing", "why?from=tools/shell", http.StatusBadRequest},
		{"names", "names?q=shop/&end=to", http.StatusOK},
		{"invalid-port", "matrix?port=http/80", http.StatusBadRequest},
		{"invalid-labels", "matrix?fromLabels=%3D%3D", http.StatusBadRequest},
		{"unknown-namespace", "matrix?from=attic", http.StatusNotFound},
		{"flows", "flows?q=db", http.StatusOK},
		{"suggestion", "suggest?from=tools/shell&to=shop/db-0&port=tcp/5432", http.StatusOK},
		{"manifest", "policies/shop/db/manifest", http.StatusOK},
		{"search", "search?q=db", http.StatusOK},
		{"pod", "pods/shop/db-0", http.StatusOK},
		{"pod-on-the-host-network", "pods/shop/agent", http.StatusOK},
		{"unknown-pod", "pods/shop/db-9", http.StatusNotFound},
		{"service", "services/shop/db", http.StatusOK},
		{"unknown-path", "nothing", http.StatusNotFound},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := s.get(t, "/api/v1/"+tc.path)
			require.Equal(t, tc.wantStatus, w.Code, w.Body)
			require.Equal(t, "application/json; charset=utf-8", w.Header().Get("Content-Type"))
			var got bytes.Buffer
			require.NoError(t, json.Indent(&got, w.Body.Bytes(), "", "  "))
			path := filepath.Join("testdata", tc.name, "want.json")
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
				require.NoError(t, os.WriteFile(path, got.Bytes(), 0o600))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), got.String())
		})
	}
}
