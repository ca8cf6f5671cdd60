package webhook

import (
	"context"
	"net/http"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
)

// The limits for senders, which are not authenticated.
const (
	maxBody   = 8 << 20   // bytes of a review: an object of the largest size that a server stores, twice, with room to spare
	smallBody = 256 << 10 // bytes up to which a review is small, as nearly all are
	maxText   = 512       // bytes of one text of a request that go to the log

	smallAtOnce = 32
	largeAtOnce = 4

	turnTimeout = 2 * time.Second // how long a review waits for its turn; the API server waits 3 s or 5 s for an answer
	readTimeout = 5 * time.Second // how long one that has its turn may take to arrive
)

// turn is held by each review of one sort that is in progress.
type turn struct {
	limit int64 // bytes of such a review
	taken chan struct{}
}

// turns has those of small reviews and of large ones. Neither delays the other.
type turns struct{ small, large *turn }

func newTurns() turns {
	return turns{
		small: &turn{limit: smallBody, taken: make(chan struct{}, smallAtOnce)},
		large: &turn{limit: maxBody, taken: make(chan struct{}, largeAtOnce)},
	}
}

// of returns the turn that a request needs. One without a length may be long.
func (t turns) of(r *http.Request) *turn {
	if r.ContentLength >= 0 && r.ContentLength <= smallBody {
		return t.small
	}
	return t.large
}

// take waits briefly for the turn. It returns false if there is none.
func (t *turn) take(ctx context.Context) bool {
	patience := time.NewTimer(turnTimeout)
	defer patience.Stop()
	select {
	case t.taken <- struct{}{}:
		return true
	case <-ctx.Done():
	case <-patience.C:
	}
	return false
}

// leave returns the turn.
func (t *turn) leave() { <-t.taken }

// operation returns the operation of a request if it is a known one, else "other".
func operation(r *admissionv1.AdmissionRequest) string {
	switch r.Operation {
	case admissionv1.Create, admissionv1.Update, admissionv1.Delete, admissionv1.Connect:
		return string(r.Operation)
	}
	return "other"
}

// brief shortens a text of a request for the log.
func brief(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}
