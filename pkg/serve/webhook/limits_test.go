package webhook_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/netloom/netloom/pkg/serve/webhook"
)

// TestRequestsCannotMakeLabels checks that requests cannot fill the memory with metrics, or the log.
func TestRequestsCannotMakeLabels(t *testing.T) {
	fed(t, deny(), func(t *testing.T, r *rig) {
		for i := range 100 {
			q := request(t, strings.Repeat("é", 100_000), "mwan3policies", "", policyText)
			q.Operation, q.Name = admissionv1.Operation("X"+strconv.Itoa(i)), strings.Repeat("n", 100_000)
			_, code := r.send(t, webhook.PathBucket, q)
			require.Equal(t, http.StatusOK, code)
		}
		_, text := get(t, r.Health(), "/metrics")
		require.Equal(t, 1, strings.Count(text, "netloom_admission_requests_total{"), text)
		require.Contains(t, text, `netloom_admission_requests_total{operation="other",path="`+webhook.PathBucket+`",result="error"} 100`)
		require.Less(t, r.log.Len(), 100*4000)
	})
}

// hanging is a body that does not end before it is released.
type hanging struct{ end chan struct{} }

// Read waits.
func (h hanging) Read([]byte) (int, error) {
	<-h.end
	return 0, io.ErrUnexpectedEOF
}

// TestReviewsUnderWayAreLimited has senders hang until there are too many of them, large ones and then small ones.
func TestReviewsUnderWayAreLimited(t *testing.T) {
	fed(t, deny(), func(t *testing.T, r *rig) {
		h, end := r.Handler(), make(chan struct{})
		hang := func(length int64) {
			q := httptest.NewRequestWithContext(t.Context(), http.MethodPost, webhook.PathLabel, hanging{end})
			q.Header.Set("Content-Type", "application/json")
			q.ContentLength = length
			h.ServeHTTP(httptest.NewRecorder(), q)
		}
		ask := func(size int) int {
			_, code := r.post(t, webhook.PathLabel, "application/json", bytes.NewReader(make([]byte, size)))
			return code
		}
		require.Equal(t, http.StatusBadRequest, ask(300<<10))
		for range 4 {
			go hang(-1)
		}
		synctest.Wait()
		began := time.Now()
		require.Equal(t, http.StatusServiceUnavailable, ask(300<<10))
		require.Equal(t, 2*time.Second, time.Since(began), "before the API server gives up")
		require.Equal(t, http.StatusBadRequest, ask(10), "small reviews do not wait for large ones")
		for range 32 {
			go hang(10)
		}
		synctest.Wait()
		require.Equal(t, http.StatusServiceUnavailable, ask(10))
		close(end)
		synctest.Wait()
		require.Equal(t, http.StatusBadRequest, ask(10))
		require.Equal(t, http.StatusBadRequest, ask(300<<10))
		_, text := get(t, r.Health(), "/metrics")
		require.Contains(t, text, `netloom_admission_requests_total{operation="",path="`+webhook.PathLabel+`",result="busy"} 2`)
	})
}
