package openwrt_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/openwrt"
)

// front stands before a device and answers some requests itself.
type front struct {
	refuse  func(*http.Request) bool // answers 500 as an aborted script does; nil refuses nothing
	refused int
	seen    int
}

// inFront has the client and the backend of a rig go through a front.
func (r *rig) inFront(t testing.TB) *front {
	t.Helper()
	f := &front{}
	to := &httputil.ReverseProxy{
		Transport: &http.Transport{DialContext: r.device.Dial, DisableKeepAlives: true},
		Rewrite: func(q *httputil.ProxyRequest) {
			q.Out.URL.Scheme, q.Out.URL.Host = "http", "device"
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		f.seen++
		if f.refuse != nil && f.refuse(q) {
			f.refused++
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte("/usr/lib/lua/luci/controller/rest_v1/utils.lua:145: attempt to index a nil value\nstack traceback:\n\t[C]: ?"))
			return
		}
		to.ServeHTTP(w, q)
	}))
	t.Cleanup(server.Close)
	c, err := openwrt.New(openwrt.Options{URL: server.URL, Connections: 1})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	r.client = c
	r.restart(t, "a")
	return f
}
