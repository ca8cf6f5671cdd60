package gateway

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/upstream"
)

// The reasons of the conditions Ready and CredentialsCurrent. Ready also has the values of upstream.Cause.
const (
	reasonNotServed  = "NotServed"       // the condition Accepted says why
	reasonDisabled   = "Disabled"        // all API servers are
	reasonReady      = "AllServersReady" // those that are not disabled
	reasonSome       = "SomeServersReady"
	reasonNone       = "NoServerReady" // for several causes
	reasonCurrent    = "Current"
	reasonExpired    = "Expired"
	reasonUnobtained = "NotObtained" // the last ones are used, if there were any
)

// mostNamed is how many API servers that are not ready a condition names.
const mostNamed = 8

// Conditions describes what is known at now about the API servers and the credentials of a cluster. A condition that cannot be told yet is
// not among them. They are the same as long as nothing changes: they contain no words of an API server, addresses of connections or counts
// of attempts.
func (s *Set) Conditions(name string, now time.Time) []metav1.Condition {
	s.mu.Lock()
	t := s.tenants[name]
	if t == nil {
		s.mu.Unlock()
		return []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reasonNotServed, Message: "The gateway does not serve this cluster.",
		}}
	}
	generation, ends := t.given.Generation, t.dates.of(t.cluster.Object())
	s.mu.Unlock()
	out := []metav1.Condition{s.credentialed(name, ends, now)}
	if ready, known := readiness(t.cluster.Endpoints()); known {
		out = append(out, ready)
	}
	for i := range out {
		out[i].ObservedGeneration = generation
	}
	return out
}

// Reporting returns what records for metrics whether this instance writes Conditions.
func (g *Gateway) Reporting() *Reporting { return (*Reporting)(g) }

// Reporting is an election.Record of the instance that writes Conditions.
type Reporting Gateway

// Leading records whether it is this one.
func (r *Reporting) Leading(now bool) { r.reports.Store(now) }

// LeaderChanged does nothing: which instance it is, the Lease says.
func (*Reporting) LeaderChanged() {}

// dates remembers when the certificates of a version of an object can be used, because parsing them takes time.
type dates struct {
	object *v1alpha1.UpstreamCluster
	ends   []validity
}

func (d *dates) of(object *v1alpha1.UpstreamCluster) []validity {
	if d.object != object {
		d.object, d.ends = object, validities(object)
	}
	return d.ends
}

func (s *Set) credentialed(name string, ends []validity, now time.Time) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionCredentialsCurrent, Status: metav1.ConditionFalse}
	if fault, _ := s.credentials.Fault(name); fault != nil { // it may have the words of a program
		c.Reason, c.Message = reasonUnobtained, "The credentials that spec.clientConfig.credentials refers to cannot be obtained; the log of the gateway says why."
		return c
	}
	for i := range ends {
		if err := ends[i].check(now); err != nil {
			c.Reason, c.Message = reasonExpired, err.Error()
			return c
		}
	}
	c.Status, c.Reason, c.Message = metav1.ConditionTrue, reasonCurrent, "All certificates and tokens can be used."
	return c
}

// readiness returns the condition Ready; known is false if API servers have not been checked.
func readiness(endpoints []upstream.EndpointStatus) (c metav1.Condition, known bool) {
	c = metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}
	var faults []string
	causes := map[upstream.Cause]bool{}
	for _, e := range endpoints {
		switch {
		case e.Cause == upstream.CauseUnchecked:
			return c, false
		case !e.Ready:
			causes[e.Cause] = true
			faults = append(faults, e.Endpoint+": "+e.Cause.Text())
		}
	}
	switch ready := len(endpoints) - len(faults); {
	case len(endpoints) == 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, reasonDisabled, "All API servers are disabled."
	case len(faults) == 0:
		c.Reason, c.Message = reasonReady, "All API servers are ready."
	case ready > 0:
		c.Reason, c.Message = reasonSome, fmt.Sprintf("%d of %d API servers are ready. %s", ready, len(endpoints), list(faults))
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, reasonNone, "No API server is ready. "+list(faults)
		for only := range causes {
			if len(causes) == 1 {
				c.Reason = string(only)
			}
		}
	}
	return c, true
}

// list joins faults, the first ones if there are many.
func list(faults []string) string {
	if more := len(faults) - mostNamed; more > 0 {
		return strings.Join(faults[:mostNamed], "; ") + fmt.Sprintf("; and %d more", more)
	}
	return strings.Join(faults, "; ")
}
