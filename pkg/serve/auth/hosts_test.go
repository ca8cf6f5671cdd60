package auth_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/serve/auth"
)

// TestForeignNamesAreRefused checks what a page gets whose own name resolves to this server, and that probes and scrapers,
// which use addresses, go on.
func TestForeignNamesAreRefused(t *testing.T) {
	names := []string{"*.svc", "*.svc.cluster.local", "netloom.example"}
	for _, tc := range []struct {
		host                string
		loopback, elsewhere bool
	}{
		{"localhost:8081", true, true},
		{"LOCALHOST.", true, true},
		{"127.0.0.1:1", true, true},
		{"127.9.9.9", true, true},
		{"[::1]:80", true, true},
		{"[::1]", true, true},
		{"192.0.2.1:80", false, true},
		{"[2001:db8::1]:8080", false, true},
		{"netloom.netloom-system.svc:8080", false, true},
		{"netloom.netloom-system.svc.cluster.local", false, true},
		{"Netloom.Example:8080", false, true},
		{"", false, true},
		{"svc", false, false},
		{"evil.example", false, false},
		{"evil.svc.example:8080", false, false},
		{"evilsvc", false, false},
		{"localhost.evil.example:8081", false, false},
		{"127.0.0.1.evil.example", false, false},
		{"x.netloom.example", false, false},
	} {
		for _, loopback := range []bool{true, false} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
			r.Host = tc.host
			w := httptest.NewRecorder()
			answered := false
			auth.Hosts(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { answered = true }), loopback, names).ServeHTTP(w, r)
			want := tc.elsewhere
			if loopback {
				want = tc.loopback
			}
			require.Equal(t, want, answered, "%s, loopback %t", tc.host, loopback)
			if !want {
				require.Equal(t, http.StatusMisdirectedRequest, w.Code)
			}
		}
	}
}
