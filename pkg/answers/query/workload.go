package query

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/netloom/netloom/labelcache"
)

// Workload is an object that creates pods.
type Workload struct {
	Word            string // its kind, such as deploy
	Namespace, Name string
	Pods            []string // their names
	StandIn         bool     // the pods stand for those that a cluster would create
	HostNetwork     bool
}

// String formats w as in the names of ends, such as deploy/shop/web.
func (w *Workload) String() string { return w.Word + "/" + w.Namespace + "/" + w.Name }

// madeUpText stands in answers for addresses that are made up.
const madeUpText = "(made up)"

// addrText formats an address, unless it is made up.
func (s *State) addrText(a netip.Addr) string {
	if s.MadeUp != nil && s.MadeUp(a) {
		return madeUpText
	}
	return a.String()
}

// addresses match what may be an address in a text.
var addresses = regexp.MustCompile(`\[?(\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]{1,4}(?::[0-9a-f]{0,4}){2,7})\]?`)

// addrTexts formats addresses, those that are made up once.
func (inv *Inventory) addrTexts(all []netip.Addr) []string {
	var out []string
	for _, a := range all {
		if text := inv.state.addrText(a); !slices.Contains(out, text) {
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

// workloadPods finds the pods of a workload that an end names, such as deploy/web. ok is false if the text names none.
func (inv *Inventory) workloadEnds(text, namespace string) (ends []end, ok bool, err error) {
	word, rest, _ := strings.Cut(text, "/")
	kind, known := workloadWord(word)
	if !known || rest == "" {
		return nil, false, nil
	}
	ns, name, qualified := strings.Cut(rest, "/")
	if !qualified {
		ns, name = namespace, rest
	}
	var found []*Workload
	for i := range inv.state.Workloads {
		w := &inv.state.Workloads[i]
		if w.Word == kind && w.Name == name && (ns == "" || w.Namespace == ns) {
			found = append(found, w)
		}
	}
	switch {
	case len(found) > 1:
		names := make([]string, len(found))
		for i, w := range found {
			names[i] = w.String()
		}
		return nil, true, fmt.Errorf("%s: expected a namespace: there are %s", text, joinAnd(names))
	case len(found) == 0:
		ends = inv.byPodNames(kind, ns, name)
		if len(ends) > 0 {
			return ends, true, nil
		}
		return nil, true, fmt.Errorf("%s: %w%s", text, ErrNotFound, inv.workloadHint(kind, ns, name))
	}
	ends, err = inv.endsOf(found[0])
	return ends, true, err
}

// workloadHint proposes other workloads for one that was not found: similar names of its kind, and its name with another kind.
func (inv *Inventory) workloadHint(kind, namespace, name string) string {
	var alike, namesakes []string
	full := map[string]string{}
	for i := range inv.state.Workloads {
		switch w := &inv.state.Workloads[i]; {
		case w.Word == kind && namespace == "":
			alike, full[w.Name] = append(alike, w.Name), w.String()
		case w.Word == kind:
			alike, full[w.Namespace+"/"+w.Name] = append(alike, w.Namespace+"/"+w.Name), w.String()
		case w.Name == name:
			namesakes = append(namesakes, w.String())
		}
	}
	near := closest(strings.TrimPrefix(namespace+"/"+name, "/"), alike)
	for i := range near {
		near[i] = full[near[i]]
	}
	near = slices.Compact(append(namesakes, near...))
	return proposal(near[:min(len(near), shownNames)], inv.workloadNames())
}

// endsOf are the pods of a workload.
func (inv *Inventory) endsOf(w *Workload) ([]end, error) {
	if len(w.Pods) == 0 {
		return nil, fmt.Errorf("%s has no pods: its number of replicas is 0", w)
	}
	if w.HostNetwork && w.StandIn {
		return nil, fmt.Errorf("%s is on the host network: policies do not apply to its pods; use node/NAME", w)
	}
	var out []end
	for _, name := range w.Pods {
		e, err := inv.pod(w.Namespace + "/" + name)
		if err != nil {
			return nil, err
		}
		e.workload = w
		out = append(out, e)
	}
	return out, nil
}

// workloadNames lists the workloads.
func (inv *Inventory) workloadNames() []string {
	names := make([]string, len(inv.state.Workloads))
	for i := range inv.state.Workloads {
		names[i] = inv.state.Workloads[i].String()
	}
	return names
}

// workloadWord reads a word for a kind of workloads, in any case, and returns the shortest one.
func workloadWord(word string) (string, bool) {
	for _, words := range [][]string{
		{"deploy", "deployment", "deployments"},
		{"sts", "statefulset", "statefulsets"},
		{"ds", "daemonset", "daemonsets"},
		{"rs", "replicaset", "replicasets"},
		{"job", "jobs"},
		{"cj", "cronjob", "cronjobs"},
		{"rollout", "rollouts", "ro"},
	} {
		if slices.Contains(words, strings.ToLower(word)) {
			return words[0], true
		}
	}
	return "", false
}

// podNames are the forms that controllers give the names of pods, after the name of their workload.
func podNames() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"deploy": regexp.MustCompile(`^-[a-z0-9]{5,10}-[a-z0-9]{5}$`), "rollout": regexp.MustCompile(`^-[a-z0-9]{5,10}-[a-z0-9]{5}$`),
		"sts": regexp.MustCompile(`^-\d+$`), "ds": regexp.MustCompile(`^-[a-z0-9]{5}$`), "rs": regexp.MustCompile(`^-[a-z0-9]{5}$`),
		"job": regexp.MustCompile(`^-(\d+-)?[a-z0-9]{5}$`), "cj": regexp.MustCompile(`^-\d+(-\d+)?-[a-z0-9]{5}$`),
	}
}

// byPodNames finds the pods of a workload that was not read, as in a cluster, by their names.
func (inv *Inventory) byPodNames(kind, namespace, name string) []end {
	var out []end
	form := podNames()[kind]
	for _, e := range inv.endpoints {
		after, ok := strings.CutPrefix(e.Key.Name, name)
		if ok && inv.isOwn(e) && form.MatchString(after) && (namespace == "" || e.Key.Namespace == namespace) && len(e.AllAddrs()) > 0 {
			out = append(out, inv.endpoint(e))
		}
	}
	return out
}

// servicePods are the pods that a Service without an address of its own stands for: its name resolves to them.
func (inv *Inventory) servicePods(namespace string, selector map[string]string) []end {
	var out []end
	for _, e := range inv.endpoints {
		if inv.isOwn(e) && e.Key.Namespace == namespace && len(selector) > 0 && matchesAll(e, selector) && len(e.AllAddrs()) > 0 {
			out = append(out, inv.endpoint(e))
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
