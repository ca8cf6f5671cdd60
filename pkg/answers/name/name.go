package name

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// AllNamespaces as the namespace of a name, or as the default of names without one, means all namespaces.
const AllNamespaces = "*"

// Name is what a text names. Whether it exists is not known.
type Name struct {
	Text    string // as typed
	Cluster string // "" if it names none
	Kind    Kind   // "" if it has no word for one: a pod or a workload
	// Namespace is "" if the kind has none, or if it names none and there is no default.
	Namespace string
	Name      string     // of pods also a pattern or a label selector, see Several; "" of an address
	Port      string     // of a Service: a number, a name, or one of these after tcp/, udp/ or sctp/; "" if it names none
	Addr      netip.Addr // of an address
}

// Several reports whether a name selects pods: by a pattern for names or namespaces, or by labels.
func (n *Name) Several() bool { return strings.ContainsAny(n.Namespace+n.Name, "*?[=!") }

// Full is the name without the kind: NAMESPACE/NAME, or NAME without a namespace.
func (n *Name) Full() string {
	if n.Namespace == "" {
		return n.Name
	}
	return n.Namespace + "/" + n.Name
}

// Known is what exists, as far as it decides how a text is read. The zero value knows nothing.
type Known struct {
	Clusters []string // those of a set, sorted, including the own one; "" is a cluster without a name
	// Namespace reports whether there is a namespace; nil means that none has a name that is also a word for a kind.
	Namespace func(name string) bool
	// Kind reads a word for a further kind, whose objects are in namespaces; nil means that there is none.
	Kind func(word string) (Kind, bool)
}

func (k *Known) cluster(name string) bool { return name != "" && slices.Contains(k.Clusters, name) }

func (k *Known) namespace(name string) bool { return k.Namespace != nil && k.Namespace(name) }

func (k *Known) kind(word string) (Kind, bool) {
	if kind, ok := KindOf(word); ok || k.Kind == nil {
		return kind, ok
	}
	return k.Kind(word)
}

// Parse reads a text, see the documentation of the package. A name without a namespace gets the given one, which may be AllNamespaces;
// "" gives it none. An error says which forms are valid.
func Parse(text, namespace string, known Known) (Name, error) {
	if a, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return Name{Text: text, Kind: Address, Addr: a.Unmap().WithZone("")}, nil
	}
	r := reader{known: known, namespace: namespace}
	r.out.Text = text
	head, port, ported := strings.Cut(text, ":")
	r.parts = split(head)
	if err := r.read(); err != nil {
		return Name{}, err
	}
	if ported && r.out.Kind != Service {
		return Name{}, fmt.Errorf("%q: only a Service has a port in its name: expected svc/NAMESPACE/NAME:%s", text, port)
	}
	r.out.Port = port
	return r.out, nil
}

// split divides a text at its slashes, but for one in the key of a label.
func split(text string) []string {
	parts := strings.Split(text, "/")
	at := slices.IndexFunc(parts, func(p string) bool { return strings.ContainsAny(p, "=!") })
	if at < 0 {
		return parts
	}
	if at > 0 && strings.Contains(parts[at-1], ".") { // no namespace or cluster has a dot in its name, but the prefix of a key has
		at--
	}
	return append(parts[:at:at], strings.Join(parts[at:], "/"))
}

// reader reads one text.
type reader struct {
	known     Known
	namespace string // the default
	parts     []string
	out       Name
}

func (r *reader) read() error {
	if err := r.cluster(); err != nil {
		return err
	}
	if slices.Contains(r.parts, "") {
		return r.expected("a part is empty")
	}
	if name, namespace, ok := dnsName(r.parts); ok {
		r.out.Kind, r.out.Namespace, r.out.Name = Service, namespace, name
		return nil
	}
	kind, ok := r.known.kind(r.parts[0])
	switch {
	case len(r.parts) == 1:
		r.out.Namespace, r.out.Name = r.namespace, r.parts[0]
		return nil
	case ok && !r.names(kind):
		return r.of(kind, r.parts[1:])
	case len(r.parts) == 2:
		r.out.Namespace, r.out.Name = r.parts[0], r.parts[1]
		return nil
	}
	if kind, ok := r.known.kind(r.parts[1]); ok && kind.Namespaced() { // shop/deploy/web
		return r.of(kind, slices.Concat(r.parts[:1], r.parts[2:]))
	}
	return r.unknown()
}

// names reports whether the first part is a namespace, although it is also a word for a kind.
func (r *reader) names(kind Kind) bool {
	if len(r.parts) != 2 || !r.known.namespace(r.parts[0]) || kind == Node || kind.Object() != "" {
		return false
	}
	return r.namespace == "" || kind.Workload() || kind == Namespace
}

// of reads the rest of a name with a kind.
func (r *reader) of(kind Kind, rest []string) error {
	r.out.Kind = kind
	switch {
	case len(rest) == 1:
		if r.out.Name = rest[0]; kind.Namespaced() {
			r.out.Namespace = r.namespace
		}
		return nil
	case !kind.Namespaced():
		return fmt.Errorf("%q: expected %s/NAME", r.out.Text, kind)
	case len(rest) == 2:
		r.out.Namespace, r.out.Name = rest[0], rest[1]
		return nil
	case len(rest) == 3 && kind == Pod: // one that stands for those of a workload
		if _, workload := KindOf(rest[1]); workload {
			r.out.Namespace, r.out.Name = rest[0], rest[1]+"/"+rest[2]
			return nil
		}
	}
	return fmt.Errorf("%q: expected %s/NAMESPACE/NAME", r.out.Text, kind)
}

// cluster takes the name of a cluster off the parts, of which at least two more are needed: it comes first, or after a word for a kind.
func (r *reader) cluster() error {
	at := 0
	if len(r.parts) == 4 && r.word(r.parts[0]) {
		at = 1
	}
	if len(r.parts)-at < 3 || !r.known.cluster(r.parts[at]) || r.word(r.parts[at]) {
		return nil
	}
	name, after := r.parts[at], r.parts[at+1:]
	if kind, ok := KindOf(after[0]); ok && kind.Workload() && len(after) == 2 && r.known.namespace(name) {
		return fmt.Errorf("%q: %s is a cluster and a namespace: write %s/%s/%s for the namespace, or %s/%s/NAMESPACE/%s for the cluster",
			r.out.Text, name, after[0], name, after[1], name, after[0], after[1])
	}
	r.out.Cluster = name
	r.parts = slices.Delete(slices.Clone(r.parts), at, at+1)
	return nil
}

func (r *reader) word(text string) bool {
	_, ok := r.known.kind(text)
	return ok
}

// unknown is the error about a first part that could be a kind or a cluster, and is neither.
func (r *reader) unknown() error {
	if len(r.known.Clusters) < 2 {
		return r.expected(fmt.Sprintf("%q is not a kind", r.parts[0]))
	}
	return r.expected(fmt.Sprintf("%q is neither a kind nor one of the clusters %s", r.parts[0], And(r.known.Clusters)))
}

// Forms are the forms of a name, for errors.
const Forms = "NAMESPACE/NAME, KIND/NAMESPACE/NAME, svc/NAMESPACE/NAME:PORT, node/NAME or an address"

func (r *reader) expected(why string) error {
	return fmt.Errorf("%q: %s: expected %s", r.out.Text, why, Forms)
}

// dnsName reads the name of a Service in DNS, such as db.shop.svc.cluster.local.
func dnsName(parts []string) (name, namespace string, ok bool) {
	if len(parts) != 1 {
		return "", "", false
	}
	head, _, found := strings.Cut(parts[0]+".", ".svc.")
	name, namespace, ok = strings.Cut(head, ".")
	return name, namespace, found && ok && !strings.Contains(namespace, ".")
}

// OfService reports whether a text says that it names a Service, so that a colon in it is before a port of the Service.
func OfService(text string) bool {
	parts := strings.SplitN(text, "/", 3)
	if len(parts) == 3 { // the name of a cluster may come first
		parts = parts[:2]
	} else {
		parts = parts[:1]
	}
	return slices.ContainsFunc(parts, func(word string) bool {
		kind, ok := KindOf(word)
		return ok && kind == Service
	})
}
