//go:build e2e

package kubelab

import (
	"bufio"
	"cmp"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"time"
)

// Request is one request in the audit log, without details that differ each time.
type Request struct {
	User        string
	Agent       string
	Verb        string
	Group       string
	Resource    string
	Subresource string
	Namespace   string
	Name        string
	Path        string // for a non-resource URL
	Forbidden   bool   // because of the user's permissions, not the request's content
	GrantedBy   string // the role that allowed it
}

// Audit lists the distinct requests of a user since the lab was started, sorted. Requests before the server was ready are
// skipped: it refuses everything until it has read its roles.
func (l *Lab) Audit(user string) []Request {
	l.tb.Helper()
	file, err := os.Open(l.path("audit.log"))
	if err != nil {
		l.tb.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	seen := map[Request]bool{}
	reader := bufio.NewReader(file)
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			break // the last line may be incomplete
		}
		if r, at, ok := readRequest(line); ok && r.User == user && !l.wasStarting(at) {
			seen[r] = true
		}
	}
	var all []Request
	for r := range seen {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Request) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource),
			cmp.Compare(a.Subresource, b.Subresource), cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.GrantedBy, b.GrantedBy))
	})
	return all
}

// wasStarting reports whether the API server was not ready yet at a time.
func (l *Lab) wasStarting(at time.Time) bool {
	return slices.ContainsFunc(l.starts, func(s start) bool { return at.After(s.began) && at.Before(s.ready) })
}

// readRequest reads a line of the log, and the time of the request.
func readRequest(line []byte) (Request, time.Time, bool) {
	var event struct {
		Verb       string `json:"verb"`
		RequestURI string `json:"requestURI"`
		UserAgent  string `json:"userAgent"`
		User       struct {
			Username string `json:"username"`
		} `json:"user"`
		ObjectRef *struct {
			Resource, Namespace, Name, APIGroup, Subresource string
		} `json:"objectRef"`
		Annotations map[string]string `json:"annotations"`
		Received    time.Time         `json:"requestReceivedTimestamp"`
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return Request{}, time.Time{}, false
	}
	r := Request{
		User: event.User.Username, Agent: event.UserAgent, Verb: event.Verb,
		Forbidden: event.Annotations["authorization.k8s.io/decision"] == "forbid",
	}
	if ref := event.ObjectRef; ref != nil {
		r.Group, r.Resource, r.Subresource, r.Namespace, r.Name = ref.APIGroup, ref.Resource, ref.Subresource, ref.Namespace, ref.Name
	} else {
		r.Path, _, _ = strings.Cut(event.RequestURI, "?")
	}
	// "RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to ServiceAccount "n/n""
	if _, rest, ok := strings.Cut(event.Annotations["authorization.k8s.io/reason"], " of "); ok {
		if parts := strings.Split(rest, `"`); len(parts) > 1 {
			r.GrantedBy = parts[1]
		}
	}
	return r, event.Received, true
}
