package gateway

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// refusal is why the gateway itself answers a request.
type refusal struct {
	code    int
	reason  string // one word, for metrics and logs
	message string
	retry   int // seconds after which to try again; 0 if that would not help
}

// reasons are the reasons of a metav1.Status, by code.
var reasons = map[int]metav1.StatusReason{
	http.StatusBadRequest: metav1.StatusReasonBadRequest, http.StatusUnauthorized: metav1.StatusReasonUnauthorized,
	http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusMethodNotAllowed: metav1.StatusReasonMethodNotAllowed,
	http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests, http.StatusBadGateway: metav1.StatusReasonInternalError,
	http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
}

// refuse answers a request as an API server would. It always returns false.
func (x *exchange) refuse(why refusal) bool {
	x.refused, x.message = why.reason, why.message
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(why.code), //nolint:gosec // it is a code of HTTP
		Reason: reasons[why.code], Message: why.message,
	}
	header := x.w.Header()
	if why.retry > 0 {
		header.Set("Retry-After", strconv.Itoa(why.retry))
		status.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(why.retry)} //nolint:gosec // it is at most a minute
	}
	text := why.code == http.StatusForbidden && isDiscovery(x.r.URL.Path)
	header.Set("Content-Type", "application/json")
	if text {
		header.Set("Content-Type", "text/plain; charset=utf-8")
	}
	header.Set("Cache-Control", "no-cache, private")
	if why.code != http.StatusUnauthorized { // whose answer has a type that was negotiated
		header.Set("X-Content-Type-Options", "nosniff")
	}
	header.Set(auditHeader, x.auditID)
	x.w.WriteHeader(why.code)
	switch {
	case x.r.Method == http.MethodHead:
	case text:
		_, _ = io.WriteString(x.w, why.message+"\n")
	default:
		_ = json.NewEncoder(x.w).Encode(status)
	}
	return false
}

// isDiscovery reports whether a client finds out with this path what an API server has. client-go reads no Status there, so kubectl
// prints the reason of a refusal only if it is text.
func isDiscovery(path string) bool {
	return path == "/api" || path == "/apis" || path == "/version" || strings.HasPrefix(path, "/openapi/")
}

// soon is a number of seconds after which an API server may be ready again, with jitter.
func soon() int { return 1 + rand.IntN(5) } //nolint:gosec // it spreads load, and protects nothing

// response counts what is written. It does not hide what its ResponseWriter can do: http.ResponseController finds it.
type response struct {
	http.ResponseWriter
	code    int
	bytes   int64
	timeout time.Duration // for the client to accept a write; 0 if there is none
	started func()        // called before the header of the response is sent; nil calls nothing
}

// buffered is how much of a response the server buffers at least, so that no write of it waits for the client.
const buffered = 2 << 10

// WriteHeader records the code.
func (w *response) WriteHeader(code int) {
	if w.code < http.StatusOK {
		w.code = code
		if code >= http.StatusOK || code == http.StatusSwitchingProtocols {
			w.start()
		}
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *response) start() {
	if w.started != nil {
		w.started()
	}
	w.started = nil
}

func (w *response) Write(p []byte) (int, error) {
	if w.code == 0 {
		w.code = http.StatusOK
		w.start()
	}
	if w.timeout > 0 && w.bytes+int64(len(p)) > buffered {
		defer w.limit()()
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// FlushError sends what is buffered, for http.ResponseController.
func (w *response) FlushError() error {
	if w.timeout > 0 {
		defer w.limit()()
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// limit limits how long the client may take to accept what is written until done is called.
func (w *response) limit() (done func()) {
	control := http.NewResponseController(w.ResponseWriter)
	_ = control.SetWriteDeadline(time.Now().Add(w.timeout)) // without deadlines only this request waits
	return func() { _ = control.SetWriteDeadline(time.Time{}) }
}

// Unwrap is for http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }
