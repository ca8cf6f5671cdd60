package world

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/name"
)

// madeUpText stands in answers for addresses that are made up.
const madeUpText = "(made up)"

// AddrText formats an address, unless it is made up.
func (s *State) AddrText(a netip.Addr) string {
	if s.MadeUp != nil && s.MadeUp(a) {
		return madeUpText
	}
	return a.String()
}

// addresses match what may be an address in a text.
var addresses = regexp.MustCompile(`\[?(\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]{1,4}(?::[0-9a-f]{0,4}){2,7})\]?`)

// AddrTexts formats addresses, those that are made up once.
func (w *World) AddrTexts(all []netip.Addr) []string {
	var out []string
	for _, a := range all {
		if text := w.State.AddrText(a); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// Shown is a text without the addresses in it that are made up.
func (s *State) Shown(text string) string {
	if s.MadeUp == nil {
		return text
	}
	return addresses.ReplaceAllStringFunc(text, func(found string) string {
		if a, err := netip.ParseAddr(strings.Trim(found, "[]")); err == nil && s.MadeUp(a) {
			return madeUpText
		}
		return found
	})
}

// workload finds the pods of a workload: of the only one in all namespaces, if the name has none.
func (w *World) workload(n *name.Name) ([]End, error) {
	namespace := n.Namespace
	if namespace == name.AllNamespaces {
		namespace = ""
	}
	var found []*Workload
	for i := range w.State.Workloads {
		load := &w.State.Workloads[i]
		if load.Kind == n.Kind && load.Name == n.Name && (namespace == "" || load.Namespace == namespace) {
			found = append(found, load)
		}
	}
	switch len(found) {
	case 1:
		return w.endsOf(found[0])
	case 0:
		if ends := w.byPodNames(n.Kind, namespace, n.Name); len(ends) > 0 {
			return ends, nil
		}
		if e, ok := w.State.View.Endpoint(w.Key(namespace, string(n.Kind)+"/"+n.Name)); ok { // one of those that stand for its pods
			return []End{w.endpoint(e)}, nil
		}
		return nil, fmt.Errorf("%s: %w%s", n.Text, name.ErrNotFound, w.workloadHint(n.Kind, namespace, n.Name))
	}
	return nil, ambiguous(n.Text, "a namespace", found)
}

// ambiguous is the error about a text that names several workloads because it lacks something.
func ambiguous(text, lacks string, found []*Workload) error {
	names := make([]string, len(found))
	for i, load := range found {
		names[i] = load.String()
	}
	return fmt.Errorf("%s: expected %s: there are %s", text, lacks, name.And(names))
}

// workloadNamed finds the pods of the workload namespace/name, of whichever kind.
func (w *World) workloadNamed(namespace, short string) ([]End, error) {
	var found []*Workload
	for i := range w.State.Workloads {
		if load := &w.State.Workloads[i]; load.Namespace == namespace && load.Name == short {
			found = append(found, load)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return w.endsOf(found[0])
	}
	return nil, ambiguous(namespace+"/"+short, "a kind", found)
}

// workloadHint proposes other workloads for one that was not found: similar names of its kind, and its name with another kind.
func (w *World) workloadHint(kind name.Kind, namespace, short string) string {
	if len(w.State.Workloads) == 0 {
		return "; no workloads were read"
	}
	var alike, namesakes []string
	full := map[string]string{}
	for i := range w.State.Workloads {
		switch load := &w.State.Workloads[i]; {
		case load.Kind == kind && namespace == "":
			alike, full[load.Name] = append(alike, load.Name), load.String()
		case load.Kind == kind:
			alike, full[load.Namespace+"/"+load.Name] = append(alike, load.Namespace+"/"+load.Name), load.String()
		case load.Name == short:
			namesakes = append(namesakes, load.String())
		}
	}
	near := name.Closest(strings.TrimPrefix(namespace+"/"+short, "/"), alike)
	for i := range near {
		near[i] = full[near[i]]
	}
	near = slices.Compact(append(namesakes, near...))
	return name.Proposal(near[:min(len(near), name.Shown)], w.workloadNames())
}

// endsOf are the pods of a workload.
func (w *World) endsOf(load *Workload) ([]End, error) {
	if len(load.Pods) == 0 {
		return nil, fmt.Errorf("%s has no pods: its number of replicas is 0", load)
	}
	if load.HostNetwork && load.StandIn {
		return nil, fmt.Errorf("%s is on the host network: policies do not apply to its pods; use node/NAME", load)
	}
	var out []End
	for _, short := range load.Pods {
		e, err := w.pod(load.Namespace, short)
		if err != nil {
			return nil, err
		}
		e.Workload = load
		out = append(out, e)
	}
	return out, nil
}

// workloadNames lists the workloads.
func (w *World) workloadNames() []string {
	names := make([]string, len(w.State.Workloads))
	for i := range w.State.Workloads {
		names[i] = w.State.Workloads[i].String()
	}
	return names
}

// podForms are the forms that controllers give the names of pods, after the name of their workload.
var podForms = map[name.Kind]*regexp.Regexp{
	name.Deployment:  regexp.MustCompile(`^-[a-z0-9]{5,10}-[a-z0-9]{5}$`),
	name.Rollout:     regexp.MustCompile(`^-[a-z0-9]{5,10}-[a-z0-9]{5}$`),
	name.StatefulSet: regexp.MustCompile(`^-\d+$`),
	name.DaemonSet:   regexp.MustCompile(`^-[a-z0-9]{5}$`),
	name.ReplicaSet:  regexp.MustCompile(`^-[a-z0-9]{5}$`),
	name.Job:         regexp.MustCompile(`^-(\d+-)?[a-z0-9]{5}$`),
	name.CronJob:     regexp.MustCompile(`^-\d+(-\d+)?-[a-z0-9]{5}$`),
}

// byPodNames finds the pods of a workload that was not read, as in a cluster, by their names.
func (w *World) byPodNames(kind name.Kind, namespace, short string) []End {
	var out []End
	for _, e := range w.endpoints {
		after, ok := strings.CutPrefix(e.Key.Name, short)
		if ok && w.IsOwn(e) && podForms[kind].MatchString(after) && (namespace == "" || e.Key.Namespace == namespace) && len(e.AllAddrs()) > 0 {
			out = append(out, w.endpoint(e))
		}
	}
	return out
}

// servicePods are the pods that a Service without an address of its own stands for: its name resolves to them.
func (w *World) servicePods(namespace string, selector map[string]string) []End {
	var out []End
	for _, e := range w.endpoints {
		if w.IsOwn(e) && e.Key.Namespace == namespace && len(selector) > 0 && matchesAll(e, selector) && len(e.AllAddrs()) > 0 {
			out = append(out, w.endpoint(e))
		}
	}
	return out
}

func matchesAll(e *labelcache.Endpoint, selector map[string]string) bool {
	for k, v := range selector {
		if e.Labels[k] != v {
			return false
		}
	}
	return true
}
