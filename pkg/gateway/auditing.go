package gateway

import (
	"net"
	"net/http"
	"strconv"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/user"
)

// The annotations of audit events.
const (
	auditCluster = "gateway.netloom.io/cluster"
	auditServer  = "gateway.netloom.io/server"
	auditPolicy  = "gateway.netloom.io/dispatch-policy" // its index
	auditSchema  = "gateway.netloom.io/flow-control-schema"
	auditRefused = "gateway.netloom.io/refused" // why the gateway answered itself
	auditShared  = "gateway.netloom.io/shared-watch"
)

// audit writes an event about a request, with who, what, which policy and which API server. Its auditID is the one in the audit log of the
// API server.
func (g *Gateway) audit(x *exchange, stage auditv1.Stage) {
	if g.opts.Audit == nil {
		return
	}
	e := &auditv1.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: auditv1.SchemeGroupVersion.String(), Kind: "Event"},
		Level:    auditv1.LevelMetadata, AuditID: types.UID(x.auditID), Stage: stage,
		RequestURI: x.r.URL.RequestURI(), UserAgent: x.r.UserAgent(), User: userInfo(x.requester), Annotations: x.annotations(),
		RequestReceivedTimestamp: metav1.NewMicroTime(x.began), StageTimestamp: metav1.NewMicroTime(time.Now()),
	}
	if host, _, err := net.SplitHostPort(x.r.RemoteAddr); err == nil {
		e.SourceIPs = []string{host}
	}
	if x.effective != nil && x.requester != nil && x.effective != x.requester {
		impersonated := userInfo(x.effective)
		e.ImpersonatedUser = &impersonated
	}
	if i := x.info; i != nil {
		e.Verb = i.Verb
		if i.IsResourceRequest {
			e.ObjectRef = &auditv1.ObjectReference{
				Resource: i.Resource, Namespace: i.Namespace, Name: i.Name, APIGroup: i.APIGroup, APIVersion: i.APIVersion, Subresource: i.Subresource,
			}
		}
	}
	if x.w.code != 0 {
		e.ResponseStatus = &metav1.Status{Code: int32(x.w.code), Status: metav1.StatusSuccess} //nolint:gosec // it is a code of HTTP
		if x.w.code >= http.StatusBadRequest {
			e.ResponseStatus.Status, e.ResponseStatus.Message = metav1.StatusFailure, x.message
		}
	}
	g.opts.Audit.Write(e)
}

func (x *exchange) annotations() map[string]string {
	out := map[string]string{}
	set := func(key, value string) {
		if value != "" {
			out[key] = value
		}
	}
	if x.tenant != nil {
		set(auditCluster, x.tenant.cluster.Name())
	}
	set(auditServer, x.sentTo.Endpoint)
	set(auditRefused, x.refused)
	if x.route != nil {
		set(auditPolicy, strconv.Itoa(x.route.Policy))
		set(auditSchema, x.route.Schema)
	}
	if x.shared {
		set(auditShared, "true")
	}
	return out
}

func userInfo(u user.Info) (out authenticationv1.UserInfo) {
	if u == nil {
		return out
	}
	out.Username, out.UID, out.Groups = u.GetName(), u.GetUID(), u.GetGroups()
	for key, values := range u.GetExtra() {
		if out.Extra == nil {
			out.Extra = map[string]authenticationv1.ExtraValue{}
		}
		out.Extra[key] = values
	}
	return out
}
