package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errShuttingDown is why an API server is not ready that says so itself.
var errShuttingDown = errors.New("the API server is shutting down")

// What kube-apiserver, and every server built on k8s.io/apiserver, answers before it looks at a request once it is shutting down.
const (
	textUnavailable = "apiserver is shutting down"                                // 503, in a Status
	textTooMany     = "The apiserver is shutting down, please try again later.\n" // 429, with --shutdown-send-retry-after
	maxShuttingDown = 1 << 10                                                     // bytes that such an answer has at most
)

// isShuttingDown reports whether a response says that the API server did not process the request, because it is shutting down. The
// response can be read from its beginning afterwards.
func isShuttingDown(response *http.Response) bool {
	code := response.StatusCode
	if (code != http.StatusServiceUnavailable && code != http.StatusTooManyRequests) || response.Header.Get("Retry-After") == "" ||
		response.ContentLength > maxShuttingDown {
		return false
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxShuttingDown+1))
	response.Body = &reread{Reader: io.MultiReader(bytes.NewReader(text), response.Body), Closer: response.Body}
	if err != nil || len(text) > maxShuttingDown {
		return false
	}
	if code == http.StatusTooManyRequests {
		return string(text) == textTooMany
	}
	var status metav1.Status
	return json.Unmarshal(text, &status) == nil && status.Reason == metav1.StatusReasonServiceUnavailable && status.Message == textUnavailable
}

// reread is a body whose beginning was read.
type reread struct {
	io.Reader
	io.Closer
}
