package cnf

import (
	"errors"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// apiFaults are the injected faults of a server.
type apiFaults struct {
	down      bool
	forbidden map[string]bool // resources without read permission
	missing   map[string]bool // resources without a CRD
	conflicts int             // that many writes of clients run into a conflict
	oldest    int64           // watches cannot begin earlier
}

// Down makes the server refuse everything and ends every watch; false brings it back, without its event history: watches
// have to list again.
func (a *API) Down(down bool) {
	a.mu.Lock()
	a.faults.down, a.faults.oldest = down, a.version+1
	a.version++
	ended := maps.Clone(a.watchers)
	a.mu.Unlock()
	for w := range ended {
		w.Stop()
	}
}

// Conflict makes the next n writes of clients run into a conflict.
func (a *API) Conflict(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults.conflicts = n
}

// Forbid revokes the permission to read a resource, or grants it again.
func (a *API) Forbid(plural string, forbidden bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.faults.forbidden == nil {
		a.faults.forbidden = map[string]bool{}
	}
	a.faults.forbidden[plural] = forbidden
}

// Undefine removes a CRD, or brings it back.
func (a *API) Undefine(plural string, missing bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.faults.missing == nil {
		a.faults.missing = map[string]bool{}
	}
	a.faults.missing[plural] = missing
}

// Requests counts the requests of clients since the last call, by verb and resource, such as "update mwan3rules/status".
func (a *API) Requests() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	counts := a.counts
	a.counts = map[string]int{}
	return counts
}

// refuse is the error for a request of a client; nil if it succeeds. a.mu is locked.
func (a *API) refuse(gvr schema.GroupVersionResource, verb, name string) error {
	switch {
	case a.faults.down:
		return apierrors.NewServiceUnavailable("the server is down")
	case a.faults.forbidden[gvr.Resource]:
		return apierrors.NewForbidden(gvr.GroupResource(), name, errors.New("no right to "+verb))
	case a.faults.missing[gvr.Resource]:
		return apierrors.NewGenericServerResponse(404, verb, gvr.GroupResource(), name, "the server could not find the requested resource", 0, true)
	}
	return nil
}

// outrun changes an object just before a client writes it, as often as Conflict requested. a.mu is locked.
func (a *API) outrun(at address) {
	o := a.objects[at]
	if a.faults.conflicts <= 0 || o == nil {
		return
	}
	a.faults.conflicts--
	next := o.DeepCopy()
	annotations := next.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["quicker"] += "+"
	next.SetAnnotations(annotations)
	a.store(at, "MODIFIED", next)
}
