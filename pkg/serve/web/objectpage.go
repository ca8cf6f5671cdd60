package web

import (
	"net/http"
	"strings"

	"github.com/netloom/netloom/pkg/answers/explain"
	"github.com/netloom/netloom/pkg/answers/intents"
	"github.com/netloom/netloom/pkg/intent"
)

const (
	maxReaches   = 100 // in a direction of a pod
	maxFrontends = 100 // of a Service
	maxBackends  = 100 // of a frontend
)

// PodPage is the effect of policies on a pod, and whether targets protect it.
type PodPage struct {
	*explain.Pod

	Ingress  *PodSide      `json:"ingress,omitempty"`
	Egress   *PodSide      `json:"egress,omitempty"`
	Coverage []PodCoverage `json:"coverage"`
	Unknown  []string      `json:"unknown,omitempty"`
}

// PodSide is one direction of a pod's traffic.
type PodSide struct {
	*explain.Side

	Reach     []PodReach `json:"reach"`
	MoreReach int        `json:"moreReach,omitempty"`
}

// PodReach is a set of ends that the same traffic passes to, or from.
type PodReach struct {
	explain.Reach

	Outside  string `json:"outside,omitempty"` // such as "0.0.0.0/0 except 10.0.0.0/8"
	MorePods int    `json:"morePods,omitempty"`
}

// PodCoverage is whether a target finds a pod. If it does not, no policy has an effect on the pod there.
type PodCoverage struct {
	Target string `json:"target"`
	Known  bool   `json:"known"`
	Found  bool   `json:"found"`
	Lacks  string `json:"lacks,omitempty"` // what was not found, such as "logical port shop_web-0"
}

// pod answers like netloom explain pod.
func (h *Handler) pod(r *http.Request, b *board) (any, error) {
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	e, err := explain.Of(b.inventory(), "pod/"+namespace+"/"+name, "")
	if err != nil {
		return nil, err
	}
	return &PodPage{
		Pod: e.Pod, Ingress: podSideOf(e.Pod.Ingress), Egress: podSideOf(e.Pod.Egress),
		Coverage: append([]PodCoverage{}, h.opts.Source.Coverage(namespace, name)...), Unknown: append(e.Unknown, b.unjudged().On(namespace)...),
	}, nil
}

func podSideOf(side *explain.Side) *PodSide {
	if side == nil {
		return nil
	}
	out := &PodSide{Side: side, Reach: []PodReach{}}
	shown, more := cut(side.Reach, maxReaches)
	out.MoreReach = more
	for i := range shown {
		reach := PodReach{Reach: shown[i], Outside: intent.PrefixText(shown[i].Outside)}
		reach.Pods, reach.MorePods = cut(reach.Pods, maxMembers)
		out.Reach = append(out.Reach, reach)
	}
	return out
}

// ServicePage is where a Service sends connections, and the policies of the pods behind it.
type ServicePage struct {
	*explain.Service

	Selector      map[string]string `json:"selector,omitempty"`
	Frontends     []Frontend        `json:"frontends"`
	MoreFrontends int               `json:"moreFrontends,omitempty"`
	Pods          []ServicePod      `json:"pods"` // that it sends to, the first maxMembers
	MorePods      int               `json:"morePods,omitempty"`
	Unknown       []string          `json:"unknown,omitempty"`
}

// Frontend is an address of a Service.
type Frontend struct {
	explain.Frontend

	Backends     []intents.Backend `json:"backends"`
	MoreBackends int               `json:"moreBackends,omitempty"`
}

// ServicePod is a pod that a Service sends to, with the NetworkPolicies that isolate it.
type ServicePod struct {
	Name    string   `json:"name"`
	Ingress []string `json:"ingress"`
	Egress  []string `json:"egress"`
}

// service answers like netloom explain service.
func (h *Handler) service(r *http.Request, b *board) (any, error) {
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	e, err := explain.Of(b.inventory(), "service/"+namespace+"/"+name, "")
	if err != nil {
		return nil, err
	}
	out := &ServicePage{Service: e.Service, Frontends: []Frontend{}, Pods: []ServicePod{}, Unknown: append(e.Unknown, b.unjudged().On(namespace)...)}
	for _, s := range b.state.Objects.Services {
		if s.Namespace == namespace && s.Name == name {
			out.Selector = s.Spec.Selector
		}
	}
	names := map[string]bool{}
	for i := range e.Service.Frontends {
		for _, backend := range e.Service.Frontends[i].Backends {
			if strings.Count(backend.Pod, "/") == 1 { // not of another cluster, whose policies are not known
				names[backend.Pod] = true
			}
		}
	}
	shown, more := cut(e.Service.Frontends, maxFrontends)
	out.MoreFrontends = more
	for i := range shown {
		f := Frontend{Frontend: shown[i]}
		f.Backends, f.MoreBackends = cut(f.Frontend.Backends, maxBackends)
		f.PerNode, _ = cut(f.PerNode, maxBackends)
		out.Frontends = append(out.Frontends, f)
	}
	pods, more := cut(sortedKeys(names), maxMembers)
	out.MorePods = more
	for _, pod := range pods {
		p := ServicePod{Name: pod}
		p.Ingress, p.Egress = explain.IsolatedBy(b.inventory(), pod)
		out.Pods = append(out.Pods, p)
	}
	return out, nil
}
