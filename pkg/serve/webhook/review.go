package webhook

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "k8s.io/apimachinery/pkg/util/json"
)

// endpoint is a path, with what its reviews need.
type endpoint struct {
	path  string
	judge judge
	needs []*feed
}

// review answers those of an endpoint. An HTTP error makes the API server apply the failurePolicy.
func (s *Server) review(e *endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		t := s.turns.of(r)
		if !t.take(r.Context()) {
			s.metrics.count(e.path, "", "busy", start)
			http.Error(w, "busy: too many reviews are in progress", http.StatusServiceUnavailable)
			return
		}
		defer t.leave()
		if text := missing(e.needs); text != "" {
			s.metrics.count(e.path, "", "not ready", start)
			http.Error(w, "not ready: "+text, http.StatusServiceUnavailable)
			return
		}
		review, code, err := readReview(w, r, t.limit)
		if err != nil {
			s.metrics.count(e.path, "", "unreadable", start)
			http.Error(w, err.Error(), code)
			return
		}
		response, result := s.respond(e, review.Request)
		s.metrics.count(e.path, operation(review.Request), result, start)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: response}) // to the API server
	}
}

// missing describes which feeds are not known yet.
func missing(feeds []*feed) string {
	var list []string
	for _, f := range feeds {
		if text := f.missing(); text != "" {
			list = append(list, text)
		}
	}
	return strings.Join(list, "; ")
}

// readReview reads the request of a review, of at most limit bytes. It does not wait long: others wait for the turn.
func readReview(w http.ResponseWriter, r *http.Request, limit int64) (*admissionv1.AdmissionReview, int, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, http.StatusUnsupportedMediaType, errors.New("expected Content-Type application/json")
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readTimeout)) // it fails only without a real connection
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		code := http.StatusBadRequest
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			code = http.StatusRequestEntityTooLarge
		}
		return nil, code, err
	}
	review := &admissionv1.AdmissionReview{}
	if err := kjson.Unmarshal(body, review); err != nil {
		return nil, http.StatusBadRequest, err
	}
	want := metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"}
	if review.TypeMeta != want || review.Request == nil {
		return nil, http.StatusBadRequest, errors.New("expected an AdmissionReview of admission.k8s.io/v1 with a request")
	}
	return review, http.StatusOK, nil
}

// respond judges a request.
func (s *Server) respond(e *endpoint, r *admissionv1.AdmissionRequest) (response *admissionv1.AdmissionResponse, result string) {
	a, err := e.judge(r)
	response = &admissionv1.AdmissionResponse{UID: r.UID, Allowed: err == nil && a.denial == "", Warnings: a.warnings}
	if response.Allowed && a.patch != nil {
		kind := admissionv1.PatchTypeJSONPatch
		response.Patch, response.PatchType = a.patch, &kind
	}
	if a.why != "" {
		response.AuditAnnotations = map[string]string{"why": a.why}
	}
	result = "allowed"
	switch {
	case err != nil:
		result = "error"
		response.Result = &metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest, Message: err.Error(),
		}
	case a.denial != "":
		result = "denied"
		response.Result = &metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: a.denial,
		}
	case len(a.warnings) > 0:
		result = "warned"
	}
	if result == "denied" || result == "error" {
		s.log.WithFields(logrus.Fields{
			"path": e.path, "user": brief(r.UserInfo.Username), "operation": operation(r), "resource": brief(r.Resource.Resource),
			"object": brief(r.Namespace + "/" + r.Name), "message": brief(response.Result.Message), "why": brief(a.why),
		}).Info("refused")
	}
	return response, result
}
