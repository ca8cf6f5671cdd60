package upstream

import (
	"net/http"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/flow"
)

// Route is how requests that a dispatch policy matches are served.
type Route struct {
	Policy  int    // index in spec.dispatchPolicies
	Schema  string // name of the flow control schema; "" if there is none
	Limiter *flow.Limiter
	Log     bool // the access log is on
	Subset  bool // only some of the API servers serve it

	pool  *pool
	count func(Event)
}

// RoundTrip sends a request to one of the API servers that the policy selects. It does not limit requests.
func (r *Route) RoundTrip(q *http.Request) (*http.Response, error) { return r.pool.send(q, r.count) }

func (c *Cluster) route(s *state, i int) *Route {
	p := &s.object.Spec.DispatchPolicies[i]
	r := &Route{
		Policy: i, Schema: p.FlowControlSchemaName, Limiter: s.limits[p.FlowControlSchemaName], pool: s.all, count: c.opts.Count,
		Log: logs(s.object.Spec.Logging.Mode, p.LogMode),
	}
	if subset := p.Subset(); len(subset) > 0 {
		selected := map[string]bool{}
		for _, name := range subset {
			selected[name] = true
		}
		var of []*endpoint
		for _, e := range s.endpoints {
			if selected[e.name] {
				of = append(of, e)
			}
		}
		r.pool, r.Subset = newPool(of), true
	}
	return r
}

// logs reports whether the modes of a cluster and a policy turn the access log on.
func logs(cluster, policy v1alpha1.LogMode) bool {
	return cluster != v1alpha1.LogOff && policy != v1alpha1.LogOff && (cluster == v1alpha1.LogOn || policy == v1alpha1.LogOn)
}

// DividedLimit is a limit that all instances of the gateway divide.
type DividedLimit struct {
	Schema  *v1alpha1.FlowControlSchema
	Limiter *flow.Limiter
}

// Divided returns the limits that all instances divide, in the order of the object.
func (c *Cluster) Divided() []DividedLimit {
	s := c.state.Load()
	if s.object == nil {
		return nil
	}
	var out []DividedLimit
	for i := range s.object.Spec.FlowControl.FlowControlSchemas {
		if schema := &s.object.Spec.FlowControl.FlowControlSchemas[i]; schema.Divided() {
			out = append(out, DividedLimit{schema, s.limits[schema.Name]})
		}
	}
	return out
}

// limits are the limiters by the name of their schema.
type limits map[string]*flow.Limiter

// update returns limiters for schemas, and keeps those that can be changed in place.
func (l limits) update(schemas []v1alpha1.FlowControlSchema) limits {
	out := limits{}
	for i := range schemas {
		s := &schemas[i]
		limiter, found := l[s.Name]
		if !found || !limiter.Update(s) {
			limiter = flow.New(s)
		}
		out[s.Name] = limiter
	}
	return out
}
