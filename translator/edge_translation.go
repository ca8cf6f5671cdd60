package translator

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
)

// edgeTranslation is one object on its way to edge intents.
type edgeTranslation struct {
	problems
	*Translator
	key    objectKey
	object metav1.Object
	scope  intent.Scope
	gone   bool
	broken bool // something of it cannot be read: it yields nothing
	open   bool // some name of it has not been looked up: what depends on that is missing from its parts
	needs  []intent.EdgeID
	parts  []edgePart
	out    translation
}

// edgePart is one of the intents of an object; "" names the only one.
type edgePart struct {
	name string
	spec intent.EdgeSpec
}

// offer is what those who refer to an object have to know of it. The zero value is none.
type offer struct {
	scope        intent.Scope
	gone, broken bool
}

// scopeOf is the scope of an object with the given purpose.
func (t *Translator) scopeOf(namespace, purpose string) intent.Scope {
	if t.options.ClusterWide {
		namespace = ""
	}
	return intent.Scope{Namespace: namespace, Purpose: purpose}
}

// labelledScope is the scope that an object's label names. It is false without a label, and with one that is no label.
func (t *Translator) labelledScope(o metav1.Object, faults *problems) (intent.Scope, bool) {
	purpose := o.GetLabels()[v1alpha1.LabelPurpose]
	if purpose == "" {
		return intent.Scope{}, false
	}
	if len(validation.IsValidLabelValue(purpose)) > 0 {
		faults.add("metadata.labels["+v1alpha1.LabelPurpose+"]", "%q: expected the value of a label; it is for no gateway", purpose)
		return intent.Scope{}, false
	}
	return t.scopeOf(o.GetNamespace(), purpose), true
}

// translateEdge turns an SD-WAN resource into edge intents. One without a purpose is for nobody.
func (t *Translator) translateEdge(key objectKey, o metav1.Object) (*translation, []Problem) {
	e := t.newEdge(key, key.kind, o)
	scope, ok := t.labelledScope(o, &e.problems)
	if !ok {
		return nil, e.list
	}
	e.scope, e.gone = scope, o.GetDeletionTimestamp() != nil
	e.read()
	if !e.broken {
		e.emit(e.adopts())
		e.leaveOpen()
	}
	out := e.out
	out.offer = offer{scope: e.scope, gone: e.gone, broken: e.broken}
	return &out, e.list
}

func (t *Translator) newEdge(key objectKey, kind string, o metav1.Object) *edgeTranslation {
	return &edgeTranslation{problems: problems{of: t.origin(kind, o)}, Translator: t, key: key, object: o}
}

// emit makes an intent of each part.
func (e *edgeTranslation) emit(adopts string) {
	slices.Sort(e.needs)
	needs := slices.Clip(slices.Compact(e.needs))
	for _, p := range e.parts {
		e.out.edges = append(e.out.edges, &intent.EdgeIntent{
			ID:         intent.NewEdgeID(e.scope, e.of, p.name),
			Scope:      e.scope,
			Origin:     e.of,
			Generation: e.object.GetGeneration(),
			Needs:      needs,
			Gone:       e.gone,
			Adopts:     adopts,
			Spec:       p.spec,
		})
	}
}

// leaveOpen says of which kinds the object may ask for more than its parts, while a name of it has not been looked up. Of
// one that goes everything goes.
func (e *edgeTranslation) leaveOpen() {
	if !e.open || e.gone {
		return
	}
	parts := []edgePart{{"unknown/nat", &intent.LinkNAT{}}}
	if _, ok := e.object.(*v1alpha1.CNFHubSite); ok {
		parts = append(parts, edgePart{"unknown/route", &intent.Route{}})
	}
	for _, p := range parts {
		e.out.edges = append(e.out.edges, &intent.EdgeIntent{
			ID:         intent.NewEdgeID(e.scope, e.of, p.name),
			Scope:      e.scope,
			Origin:     e.of,
			Generation: e.object.GetGeneration(),
			Unknown:    true,
			Spec:       p.spec,
		})
	}
}

// adopts is the name in the annotation. An object of several parts has no one thing to take over.
func (e *edgeTranslation) adopts() string {
	name := e.object.GetAnnotations()[AdoptAnnotation]
	if name == "" {
		return ""
	}
	if len(e.parts) == 1 && e.parts[0].name == "" {
		return name
	}
	if len(e.parts) > 0 {
		e.add("metadata.annotations["+AdoptAnnotation+"]", "one name cannot stand for several objects; the annotation is ignored")
	}
	return ""
}

// read reads the spec.
func (e *edgeTranslation) read() {
	switch o := e.object.(type) {
	case *v1alpha1.FirewallZone:
		e.readZone(&o.Spec)
	case *v1alpha1.FirewallForwarding:
		e.readForwarding(&o.Spec)
	case *v1alpha1.FirewallRule:
		e.readFirewallRule(&o.Spec)
	case *v1alpha1.FirewallSNAT:
		e.readRedirection(&o.Spec.Redirection, intent.SourceNAT, o.Spec.Target, "SNAT")
	case *v1alpha1.FirewallDNAT:
		e.readRedirection(&o.Spec.Redirection, intent.DestinationNAT, o.Spec.Target, "DNAT")
	case *v1alpha1.NetworkFirewallRule:
		e.readNetworkFirewallRule(&o.Spec)
	case *v1alpha1.CNFNAT:
		e.readNAT(&o.Spec)
	case *v1alpha1.Mwan3Policy:
		e.readWANPolicy(&o.Spec)
	case *v1alpha1.Mwan3Rule:
		e.readWANRule(&o.Spec)
	case *v1alpha1.IpsecProposal:
		e.readProposal(&o.Spec)
	case *v1alpha1.IpsecSite:
		e.readSite(&o.Spec)
	case *v1alpha1.IpsecHost:
		e.readHost(&o.Spec)
	case *v1alpha1.CNFRoute:
		e.readRoute(&o.Spec)
	case *v1alpha1.CNFRouteRule:
		e.readRouteRule(&o.Spec)
	case *v1alpha1.SdewanApplication:
		e.readApplication(&o.Spec)
	case *v1alpha1.CNFService:
		e.readService(&o.Spec)
	case *v1alpha1.CNFLocalService:
		e.readLocalService(&o.Spec)
	case *v1alpha1.CNFHubSite:
		e.readHubSite(&o.Spec)
	case *v1alpha1.CNFStatus: // wants nothing
	}
}

// is makes spec the only part.
func (e *edgeTranslation) is(spec intent.EdgeSpec) { e.parts = []edgePart{{spec: spec}} }

// refuse reports a field without which the object means nothing.
func (e *edgeTranslation) refuse(field, format string, args ...any) {
	e.broken = true
	e.add(field, format, args...)
}

// look has the object translated anew when the one with this key comes, changes or goes.
func (e *edgeTranslation) look(key objectKey) { e.out.looks = append(e.out.looks, key) }

// refer points at the object of a kind and name that is for the same gateways, and otherwise at what the gateways call so.
// What goes is no longer pointed at, except by what goes as well and must go first.
func (e *edgeTranslation) refer(kind, field, name string) intent.EdgeRef {
	if name == "" || !e.matches(field, name, referencePattern, "a name of letters, digits and _, with - and . inside") {
		return intent.EdgeRef{}
	}
	key := objectKey{kind, e.object.GetNamespace(), name}
	e.look(key)
	var to offer
	if there := e.translated[key]; there != nil {
		to = there.offer
	}
	switch {
	case to.scope != e.scope || to.gone && !e.gone:
		return intent.EdgeRef{Name: name}
	case to.broken:
		e.refuse(field, "%s cannot be understood itself", key)
		return intent.EdgeRef{}
	}
	id := intent.NewEdgeID(e.scope, intent.Origin{Cluster: e.cluster, Kind: kind, Namespace: key.namespace, Name: name}, "")
	e.needs = append(e.needs, id)
	return intent.EdgeRef{ID: id}
}
