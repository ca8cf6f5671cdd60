package tungsten_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/tungsten"
)

// FuzzAnswers answers every request with any body: no object without an identity is returned, and every event has a kind.
func FuzzAnswers(f *testing.F) {
	f.Add(200, []byte(readBack))
	f.Add(200, []byte(`{"tags":[{"uuid":"u","fq_name":["label=web"]},{"tag":{"uuid":"v","tag_id":7}}],"marker":null}`))
	f.Add(200, []byte(`{"tag":{"uuid":"u","fq_name":["label=web"],"tag_refs":[{"to":["ERROR"],"uuid":"v","attr":null}]}}`))
	f.Add(200, []byte("event: init\ndata: {\"tags\":[{\"tag\":{\"uuid\":\"u\"}}]}\n\nevent: delete\ndata: {\"tag\":{\"uuid\":\"u\"}}\n\n"))
	f.Add(409, []byte("Delete when resource still referred: ['http://h/tag/u']"))
	var mu sync.Mutex
	var status int
	var answer []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/watch" {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		w.WriteHeader(status)
		_, _ = w.Write(answer) // the client may be gone
	}))
	f.Cleanup(server.Close)
	c, err := tungsten.New(tungsten.Options{URLs: []string{server.URL}})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, code int, body []byte) {
		if code < 200 || code > 599 {
			return
		}
		mu.Lock()
		status, answer = code, body
		mu.Unlock()
		list, err := c.List(t.Context(), tungsten.KindTag, tungsten.Query{})
		if err != nil {
			require.Empty(t, list)
		}
		for _, o := range list {
			require.NotEmpty(t, o.UUID)
		}
		if o, err := c.Get(t.Context(), tungsten.KindTag, "u"); err == nil {
			require.NotEmpty(t, o.UUID)
		}
		if uuid, err := c.Create(t.Context(), label("web")); err == nil {
			require.NotEmpty(t, uuid)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		require.Error(t, c.Watch(ctx, []tungsten.Watched{{Kind: tungsten.KindTag}}, func(e tungsten.Event) {
			if e.Type == tungsten.EventLost {
				cancel()
				return
			}
			require.Equal(t, tungsten.KindTag, e.Kind)
			for _, o := range e.Objects {
				require.NotEmpty(t, o.UUID)
			}
		}))
	})
}
