package scenario

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/script"
)

// moment is the state after a step that changed something, and the expectations of it.
type moment struct {
	step     script.Step
	objects  map[object.Ref][]byte   // manifests
	answers  map[string][]netip.Addr // of DNS
	restart  bool                    // the processes restart before this state
	fault    int                     // the write that fails before this state; 0 is none
	writes   int                     // expected write transactions up to this state; -1 is any number
	writesOn string                  // the first letters of the backends to which that applies
	problems []string
	skips    []string
	rows     []string
	probes   []probe
}

// checked reports whether the script has expectations of the moment.
func (m *moment) checked() bool {
	return len(m.probes)+len(m.problems)+len(m.skips)+len(m.rows) > 0 || m.writes >= 0
}

// stage collects the moments of a script from its steps.
type stage struct {
	script     *script.Script
	objects    map[object.Ref][]byte
	answers    map[string][]netip.Addr      // of DNS, replaced by each change
	pods       map[string]*corev1.Pod       // by namespace/name
	namespaces map[string]*corev1.Namespace // by name
	services   map[string]*corev1.Service   // by namespace/name
	fault      int
	moments    []*moment
}

// play finds the moments of a script.
func play(s *script.Script) ([]*moment, error) {
	st := &stage{
		script: s, objects: make(map[object.Ref][]byte),
		pods: make(map[string]*corev1.Pod), namespaces: make(map[string]*corev1.Namespace),
		services: make(map[string]*corev1.Service),
	}
	for _, step := range s.Steps {
		if err := st.do(step); err != nil {
			return nil, err
		}
	}
	if len(st.moments) == 0 {
		return nil, fmt.Errorf("the script does nothing")
	}
	return st.moments, nil
}

func (st *stage) do(s script.Step) error {
	args := s.Words[1:]
	switch s.Words[0] {
	case "probe", "writes", "problem", "skip", "rows":
		return st.expect(s)
	case "fault":
		n, err := strconv.Atoi(strings.Join(args, " "))
		if err != nil || n < 1 {
			return s.Errorf("expected the number of a write")
		}
		st.fault = n
		return nil
	case "restart":
		st.enter(s).restart = true
		return nil
	}
	if err := st.change(s.Words[0], args); err != nil {
		return s.Errorf("%v", err)
	}
	st.enter(s)
	return nil
}

// expect adds an expectation to the last moment.
func (st *stage) expect(s script.Step) error {
	if len(st.moments) == 0 {
		return s.Errorf("nothing has happened yet")
	}
	m := st.moments[len(st.moments)-1]
	rest := strings.TrimSpace(strings.TrimPrefix(s.Text, s.Words[0]))
	switch s.Words[0] {
	case "writes":
		number, backend, _ := strings.Cut(rest, " on ")
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 {
			return s.Errorf("expected a number, or NUMBER on BACKEND")
		}
		m.writes, m.writesOn = n, backend
	case "problem":
		m.problems = append(m.problems, rest)
	case "skip":
		m.skips = append(m.skips, rest)
	case "rows":
		m.rows = append(m.rows, rest)
	default:
		p, err := st.parseProbe(s)
		if err != nil {
			return s.Errorf("%v", err)
		}
		m.probes = append(m.probes, p)
	}
	return nil
}

// enter makes the current state a moment.
func (st *stage) enter(s script.Step) *moment {
	m := &moment{step: s, objects: maps.Clone(st.objects), answers: st.answers, fault: st.fault, writes: -1}
	st.fault = 0
	st.moments = append(st.moments, m)
	return m
}

func (st *stage) change(verb string, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("expected a name")
	}
	switch verb {
	case "namespace":
		return st.putNamespace(args[0], args[1:])
	case "node":
		return st.putNode(args[0], args[1:])
	case "pod":
		return st.putPod(args[0], args[1:])
	case "service":
		return st.putService(args[0], args[1:])
	case "endpoints":
		return st.putEndpoints(args[0], args[1:])
	case "address", "finish":
		return st.editPod(verb, args[0], args[1:])
	case "label":
		return st.label(args)
	case "resolve":
		return st.resolve(args)
	case "delete":
		return st.remove(args)
	case "apply":
		for _, file := range args {
			if err := st.apply(file); err != nil {
				return err
			}
		}
		return nil
	default:
		return fmt.Errorf("no such step")
	}
}

// apply adds every document of a file as it is.
func (st *stage) apply(file string) error {
	content, ok := st.script.Files[file]
	if !ok {
		return fmt.Errorf("the script has no file %q", file)
	}
	for _, doc := range strings.Split("\n"+content, "\n---\n") {
		var is struct {
			Kind     string `json:"kind"`
			Metadata struct {
				Namespace string `json:"namespace"`
				Name      string `json:"name"`
			} `json:"metadata"`
		}
		if err := yaml.Unmarshal([]byte(doc), &is); err != nil {
			return err
		}
		namespaced := is.Metadata.Namespace != ""
		if !slices.Contains(applied(), is.Kind) || is.Metadata.Name == "" || namespaced == slices.Contains(clusterWide(), is.Kind) {
			return fmt.Errorf("file %q: expected objects of %v with name, and namespace if they have one", file, applied())
		}
		if is.Kind == object.KindNamespace {
			n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}}}
			if err := yaml.Unmarshal([]byte(doc), n); err != nil {
				return err
			}
			st.namespaces[is.Metadata.Name] = n
		}
		if is.Kind == object.KindService {
			s := &corev1.Service{}
			if err := yaml.Unmarshal([]byte(doc), s); err != nil {
				return err
			}
			if len(s.Spec.ClusterIPs) == 0 {
				s.Spec.ClusterIPs = []string{s.Spec.ClusterIP}
			}
			st.services[is.Metadata.Namespace+"/"+is.Metadata.Name] = s
		}
		st.objects[object.Ref{Kind: is.Kind, Namespace: is.Metadata.Namespace, Name: is.Metadata.Name}] = []byte(doc)
	}
	return nil
}

// kindEndpoints is an input of a source, which delivers slices for it.
const kindEndpoints string = "Endpoints"

// applied are the kinds that files may contain.
func applied() []string {
	return append(clusterWide(), object.KindNetworkPolicy, object.KindService, object.KindServiceImport, object.KindEndpointSlice, kindEndpoints)
}

// clusterWide are the kinds without a namespace.
func clusterWide() []string {
	return []string{
		object.KindClusterNetworkPolicy, object.KindAdminNetworkPolicy, object.KindBaselineAdminNetworkPolicy, object.KindNamespace,
	}
}

// remove deletes an existing object.
func (st *stage) remove(args []string) error {
	kinds := map[string]string{
		"policy": object.KindNetworkPolicy, "pod": object.KindPod, "namespace": object.KindNamespace, "node": object.KindNode,
		"service": object.KindService, "slice": object.KindEndpointSlice, "import": object.KindServiceImport, "cnp": object.KindClusterNetworkPolicy,
		"anp": object.KindAdminNetworkPolicy, "banp": object.KindBaselineAdminNetworkPolicy,
	}
	if len(args) == 2 && args[0] == "endpoints" {
		return st.removeEndpoints(args[1])
	}
	if len(args) != 2 || kinds[args[0]] == "" {
		return fmt.Errorf("expected policy, cnp, anp, banp, pod, namespace, node, service, import, slice or endpoints and a name")
	}
	ref := object.Ref{Kind: kinds[args[0]], Name: args[1]}
	if ns, name, ok := strings.Cut(args[1], "/"); ok {
		ref.Namespace, ref.Name = ns, name
	}
	if st.objects[ref] == nil {
		return fmt.Errorf("there is no %s", ref)
	}
	delete(st.objects, ref)
	if forget, kept := map[string]func(){
		object.KindPod:       func() { delete(st.pods, args[1]) },
		object.KindNamespace: func() { delete(st.namespaces, args[1]) },
		object.KindService:   func() { delete(st.services, args[1]) },
	}[ref.Kind]; kept {
		forget()
	}
	return nil
}

// removeEndpoints deletes the slices of a line of endpoints, or the Endpoints of that name.
func (st *stage) removeEndpoints(fullName string) error {
	ns, name, _ := strings.Cut(fullName, "/")
	refs := []object.Ref{{Kind: kindEndpoints, Namespace: ns, Name: name}}
	for _, ref := range sliceRefs(fullName) {
		refs = append(refs, ref)
	}
	found := false
	for _, ref := range refs {
		found = found || st.objects[ref] != nil
		delete(st.objects, ref)
	}
	if !found {
		return fmt.Errorf("there are no endpoints %s", fullName)
	}
	return nil
}
