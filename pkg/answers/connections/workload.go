package connections

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/object"
)

// workloadPods are the pods of a workload, in order; of a pod without one, itself.
type workloadPods struct {
	name    string
	pods    []*labelcache.Endpoint
	standIn bool // the pods stand for any number
}

// workloads groups pods by their workloads, in order of their names.
func (s *survey) workloads(pods []*labelcache.Endpoint) []workloadPods {
	known := map[object.Key]int{} // by pod: the index of its workload, and 1
	loads := s.world.State.Workloads
	for i := range loads {
		for _, pod := range loads[i].Pods {
			if key := s.world.Key(loads[i].Namespace, pod); known[key] == 0 {
				known[key] = i + 1
			}
		}
	}
	at := map[string]*workloadPods{}
	for _, e := range pods {
		of, standIn := s.world.NameOf(e.Key), false
		if n := known[e.Key]; n > 0 {
			load := &loads[n-1]
			of, standIn = load.Namespace+"/"+string(load.Kind)+"/"+load.Name, load.StandIn
		} else if kind, short, ok := controllerOf(e); ok {
			owner := e.Key
			owner.Name = string(kind) + "/" + short
			of = s.world.NameOf(owner)
		}
		if at[of] == nil {
			at[of] = &workloadPods{name: of, standIn: standIn}
		}
		at[of].pods = append(at[of].pods, e)
	}
	out := make([]workloadPods, 0, len(at))
	for _, of := range slices.Sorted(maps.Keys(at)) {
		out = append(out, *at[of])
	}
	return out
}

// random is what controllers add to the names of pods.
var random = regexp.MustCompile(`^[a-z0-9]{5}$`)

// controllerOf tells from the labels and the name that the controllers of Kubernetes give a pod which workload it belongs to. It returns
// false for a pod of no workload.
func controllerOf(e *labelcache.Endpoint) (name.Kind, string, bool) {
	labels := e.Labels
	head, tail := e.Key.Name, ""
	if i := strings.LastIndexByte(head, '-'); i >= 0 {
		head, tail = head[:i], head[i+1:]
	}
	for _, c := range []struct {
		label string
		kind  name.Kind
	}{{"pod-template-hash", name.Deployment}, {"rollouts-pod-template-hash", name.Rollout}} {
		if hash := labels[c.label]; hash != "" && random.MatchString(tail) {
			short, ok := strings.CutSuffix(head, "-"+hash)
			return c.kind, short, ok && short != ""
		}
	}
	switch {
	case labels["statefulset.kubernetes.io/pod-name"] == e.Key.Name && head != e.Key.Name:
		return name.StatefulSet, head, true
	case labels["pod-template-generation"] != "" && random.MatchString(tail):
		return name.DaemonSet, head, true
	}
	for _, label := range []string{"batch.kubernetes.io/job-name", "job-name"} {
		if job := labels[label]; job != "" && strings.HasPrefix(e.Key.Name, job+"-") {
			return name.Job, job, true
		}
	}
	return "", "", false
}
