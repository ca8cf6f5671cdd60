package upstream

import (
	"io"
	"net/http"
	"sync"
)

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

// heldBody is a request body that stays open until release, since another attempt may need it.
type heldBody struct {
	io.ReadCloser

	mu             sync.Mutex
	held, closable bool
	begun          bool // something was read
}

// newHeldBody returns nil for a request without a body.
func newHeldBody(body io.ReadCloser) *heldBody {
	if body == nil || body == http.NoBody {
		return nil
	}
	return &heldBody{ReadCloser: body, held: true}
}

// Read reads from the body, which can then not be sent again.
func (b *heldBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	b.begun = true
	b.mu.Unlock()
	return b.ReadCloser.Read(p)
}

// whole reports whether nothing of the body was read.
func (b *heldBody) whole() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.begun
}

// Close closes the body, or has release do it.
func (b *heldBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held {
		b.closable = true
		return nil
	}
	return b.ReadCloser.Close()
}

// release lets Close close the body.
func (b *heldBody) release() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = false
	if b.closable {
		_ = b.ReadCloser.Close()
	}
}
