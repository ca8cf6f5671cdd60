package kubeapi

import (
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// Server is an API server. It is an http.Handler, and safe for concurrent use. Make it with New.
type Server struct {
	token string
	store *store
}

// New makes a server without objects for clients with a bearer token.
func New(token string) *Server { return &Server{token: token, store: newStore()} }

// Put creates or replaces an object. Its kind must be in the table of kinds.
func (s *Server) Put(o *unstructured.Unstructured) error { return s.store.put(o) }

// Delete deletes an object of a kind by its plural, such as pods. namespace is "" for kinds without one.
func (s *Server) Delete(plural, namespace, name string) error {
	return s.store.remove(plural, namespace, name)
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	given := []byte(r.Header.Get("Authorization"))
	if subtle.ConstantTimeCompare(given, []byte("Bearer "+s.token)) != 1 {
		refuse(w, http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized")
		return
	}
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		refuse(w, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "the simulated API server can only be read")
	case r.URL.Path == "/readyz" || r.URL.Path == "/healthz" || r.URL.Path == "/livez":
		_, _ = fmt.Fprint(w, "ok")
	default:
		if found := discovery(strings.TrimSuffix(r.URL.Path, "/")); found != nil {
			answer(w, http.StatusOK, found)
			return
		}
		s.resource(w, r)
	}
}

// resource answers a request for objects.
func (s *Server) resource(w http.ResponseWriter, r *http.Request) {
	k, namespace, name := parse(r.URL.Path)
	if k == nil {
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
		return
	}
	if name != "" {
		o := s.store.get(k.plural, namespace, name)
		if o == nil {
			at := schema.GroupResource{Group: k.Group, Resource: k.plural}
			refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf("%s %q not found", at, name))
			return
		}
		answer(w, http.StatusOK, o)
		return
	}
	q, err := newQuery(k, namespace, r.URL.Query())
	if err != nil {
		refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	if on, _ := strconv.ParseBool(r.URL.Query().Get("watch")); on {
		s.watch(w, r, q)
		return
	}
	objects, version := s.store.list(q)
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(k.GroupVersion().WithKind(k.Kind + "List"))
	list.SetResourceVersion(strconv.FormatUint(version, 10))
	for _, o := range objects {
		list.Items = append(list.Items, *o)
	}
	answer(w, http.StatusOK, list)
}

// parse reads the path of objects: all of a kind, those in a namespace, or one. The kind is nil if it is none.
func parse(path string) (k *kind, namespace, name string) {
	for _, known := range kinds() {
		rest, ok := strings.CutPrefix(path, prefix(&known)+"/")
		if !ok {
			continue
		}
		parts := strings.Split(rest, "/")
		if known.namespaced && len(parts) >= 3 && parts[0] == "namespaces" {
			namespace, parts = parts[1], parts[2:]
		}
		switch {
		case parts[0] != known.plural, len(parts) > 2, len(parts) == 2 && known.namespaced && namespace == "":
			namespace = ""
			continue
		case len(parts) == 2:
			name = parts[1]
		}
		return &known, namespace, name
	}
	return nil, "", ""
}

func newQuery(k *kind, namespace string, values url.Values) (*query, error) {
	q := &query{kind: k, namespace: namespace}
	var err error
	if q.labels, err = labels.Parse(values.Get("labelSelector")); err != nil {
		return nil, err
	}
	if q.fields, err = fields.ParseSelector(values.Get("fieldSelector")); err != nil {
		return nil, err
	}
	for _, r := range q.fields.Requirements() {
		if r.Field != "metadata.name" && r.Field != "metadata.namespace" {
			return nil, fmt.Errorf("field label not supported: %s", r.Field)
		}
	}
	return q, nil
}

// watch sends events until the client goes.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, q *query) {
	values := r.URL.Query()
	initial, _ := strconv.ParseBool(values.Get("sendInitialEvents"))
	version, err := strconv.ParseUint(values.Get("resourceVersion"), 10, 64)
	w.Header().Set("Content-Type", "application/json")
	out := &eventWriter{json: json.NewEncoder(w), flush: http.NewResponseController(w)}
	if initial || err != nil || version == 0 { // begins with what there is
		var objects []*unstructured.Unstructured
		objects, version = s.store.list(q)
		for _, o := range objects {
			out.send(watch.Event{Type: watch.Added, Object: o})
		}
		if initial {
			out.send(watch.Event{Type: watch.Bookmark, Object: bookmark(q.kind, version)})
		}
	}
	for {
		_ = out.flush.Flush()
		events, now, more, err := s.store.since(q, version)
		if err != nil {
			out.expired(version)
			return
		}
		for _, e := range events {
			out.send(e)
		}
		version = now
		_ = out.flush.Flush()
		if out.failed {
			return
		}
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
	}
}

// bookmark says that the initial events of a watch have been sent.
func bookmark(k *kind, version uint64) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(k.GroupVersionKind)
	o.SetResourceVersion(strconv.FormatUint(version, 10))
	o.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return o
}

// eventWriter writes the events of a watch.
type eventWriter struct {
	json   *json.Encoder
	flush  *http.ResponseController
	failed bool
}

func (w *eventWriter) send(e watch.Event) {
	if err := w.json.Encode(map[string]any{"type": e.Type, "object": e.Object}); err != nil {
		w.failed = true
	}
}

// expired ends a watch whose version is not remembered.
func (w *eventWriter) expired(version uint64) {
	w.send(watch.Event{Type: watch.Error, Object: statusOf(http.StatusGone, metav1.StatusReasonExpired, fmt.Sprintf("%v: %d", errExpired, version))})
	_ = w.flush.Flush()
}

func statusOf(code int32, reason metav1.StatusReason, message string) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}
}

func refuse(w http.ResponseWriter, code int32, reason metav1.StatusReason, message string) {
	answer(w, int(code), statusOf(code, reason, message))
}

func answer(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object) // the client notices
}
