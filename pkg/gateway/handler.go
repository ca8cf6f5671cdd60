package gateway

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/net/http/httpguts"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/netloom/netloom/pkg/gateway/dispatch"
	"github.com/netloom/netloom/pkg/gateway/identity"
	"github.com/netloom/netloom/pkg/gateway/upstream"
)

// auditHeader identifies a request in the audit logs of the gateway's clusters.
const auditHeader = "Audit-Id"

// exchange is one request and its response.
type exchange struct {
	w       *response
	r       *http.Request
	began   time.Time
	auditID string

	tenant    *tenant
	info      *request.RequestInfo
	requester user.Info // who sent it
	effective user.Info // whose rights it has
	route     *upstream.Route
	streams   bool // the response has no end
	sentTo    upstream.Note
	refused   string // why the gateway did not forward it
	message   string // the same in words
	shared    bool   // it was answered from a shared watch
}

// ServeHTTP serves one request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{w: &response{ResponseWriter: w}, r: r, began: time.Now(), auditID: auditID(r)}
	defer g.finish(x)
	if r.ContentLength != 0 {
		x.deadline(x.began.Add(g.opts.Timeouts.Body))
	}
	if !g.accept(x) || !g.identify(x) || !g.dispatch(x) {
		return
	}
	release, ok := x.route.Limiter.Admit(x.streams)
	if !ok {
		x.limitHeaders()
		x.refuse(refusal{http.StatusTooManyRequests, "limited", "too many requests: limited by flow control schema " + x.route.Schema, x.route.Limiter.RetryAfter()})
		return
	}
	defer release()
	if x.streams {
		x.w.started = func() { g.audit(x, auditv1.StageResponseStarted) }
	} else {
		x.w.timeout = g.opts.Timeouts.Write
	}
	defer g.metrics.begin(x)()
	if x.shared = g.share(x); !x.shared {
		g.forward(x)
	}
}

// limitHeaders names what limits a request, in the headers of API Priority and Fairness. Theirs have the UIDs of objects of the API server:
// with responses of an API server, those are passed on.
func (x *exchange) limitHeaders() {
	name := x.tenant.cluster.Name()
	x.w.Header().Set(headerFlowSchema, name+"/dispatchPolicies/"+strconv.Itoa(x.route.Policy))
	x.w.Header().Set(headerPriorityLevel, name+"/flowControlSchemas/"+x.route.Schema)
}

// The headers of flowcontrol.apiserver.k8s.io/v1.
const (
	headerFlowSchema    = "X-Kubernetes-Pf-Flowschema-Uid"
	headerPriorityLevel = "X-Kubernetes-Pf-Prioritylevel-Uid"
)

// auditID is the client's own, as an API server takes it, or a new one.
func auditID(r *http.Request) string {
	if id := r.Header.Get(auditHeader); id != "" && len(id) <= 64 && httpguts.ValidHeaderFieldValue(id) {
		return id
	}
	return uuid.NewString()
}

// accept finds the cluster, and rejects what no client of an API server sends.
func (g *Gateway) accept(x *exchange) bool {
	r := x.r
	x.tenant = g.tenantOf(r)
	switch {
	case x.tenant == nil:
		return x.refuse(g.unserved(r))
	case g.misdirected(r, x.tenant):
		return x.refuse(refusal{http.StatusMisdirectedRequest, "misdirected", "the connection is for another cluster than the host name of this request", 0})
	case !strings.HasPrefix(r.URL.Path, "/") || !slices.Contains(methods, r.Method):
		return x.refuse(refusal{http.StatusMethodNotAllowed, "method", "this method or path is not supported", 0})
	case isUpgrade(r) && !validUpgrade(r):
		x.w.Header().Set("Connection", "close") // what follows is not read as a body, nor as a request
		return x.refuse(refusal{http.StatusBadRequest, "upgrade", "only websocket and SPDY/3.1 are supported, without a body", 0})
	}
	info, err := g.infos.NewRequestInfo(r)
	if err != nil {
		return x.refuse(refusal{http.StatusBadRequest, "invalid", err.Error(), 0})
	}
	x.info, x.streams = info, isLongRunning(info)
	if x.streams && r.ContentLength != 0 {
		x.deadline(time.Time{})
	}
	return true
}

// deadline limits how long the client may take to send the body.
func (x *exchange) deadline(at time.Time) { _ = http.NewResponseController(x.w).SetReadDeadline(at) }

// methods are those of an API server.
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

func isUpgrade(r *http.Request) bool {
	return r.Header.Get("Upgrade") != "" || httpguts.HeaderValuesContainsToken(r.Header["Connection"], "upgrade")
}

// validUpgrade reports whether a request switches to a protocol of API servers. With a body the API server could read what
// follows it as a request of the gateway.
func validUpgrade(r *http.Request) bool {
	protocols := r.Header["Upgrade"]
	return len(protocols) == 1 && (strings.EqualFold(protocols[0], "websocket") || strings.EqualFold(protocols[0], "SPDY/3.1")) &&
		r.ContentLength == 0 && r.ProtoMajor == 1
}

// isLongRunning reports whether a response has no end, by the rules of an API server.
func isLongRunning(i *request.RequestInfo) bool {
	if !i.IsResourceRequest {
		return strings.HasPrefix(i.Path, "/debug/pprof/")
	}
	return slices.Contains([]string{"watch", "watchlist", "proxy"}, i.Verb) ||
		slices.Contains([]string{"attach", "exec", "proxy", "log", "portforward"}, i.Subresource)
}

// identify finds out who sends the request, and whose rights it has.
func (g *Gateway) identify(x *exchange) bool {
	var err error
	x.requester, err = x.tenant.authn.Authenticate(x.r)
	switch {
	case x.requester != nil:
	case err != nil:
		return x.refuse(refusal{http.StatusServiceUnavailable, "authentication", "the cluster cannot be asked who sends this request", 1})
	default:
		return x.refuse(refusal{http.StatusUnauthorized, "authentication", "Unauthorized", 0})
	}
	if g.opts.OwnerOnly {
		x.effective = x.requester
		return true
	}
	x.effective, err = identity.Effective(x.r.Context(), x.tenant.access, x.requester, x.r.Header)
	switch {
	case err == nil:
		return true
	case errors.Is(err, identity.ErrBadImpersonation):
		return x.refuse(refusal{http.StatusBadRequest, "impersonation", err.Error(), 0})
	case errors.Is(err, identity.ErrForbidden):
		return x.refuse(refusal{http.StatusForbidden, "impersonation", err.Error(), 0})
	default:
		return x.refuse(refusal{http.StatusServiceUnavailable, "impersonation", "the cluster cannot be asked whom this request may impersonate", 1})
	}
}

// dispatch finds the policy that applies.
func (g *Gateway) dispatch(x *exchange) bool {
	i := x.info
	x.route = x.tenant.cluster.Match(&dispatch.Request{
		IsResource: i.IsResourceRequest, Verb: i.Verb, APIGroup: i.APIGroup, Resource: i.Resource, Subresource: i.Subresource, Name: i.Name,
		Path: i.Path, User: x.effective.GetName(), Groups: x.effective.GetGroups(),
	})
	if x.route == nil {
		return x.refuse(refusal{http.StatusForbidden, "no-policy", "no dispatch policy of cluster " + x.tenant.cluster.Name() + " matches this request", 0})
	}
	return true
}
