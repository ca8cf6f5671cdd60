package sdwan

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/field"
)

// translation is one object being translated to device intents.
type translation struct {
	field.Faults
	*Table
	ref    object.Ref
	object metav1.Object
	scope  intent.Scope
	gone   bool
	broken bool // something in it is invalid: it yields nothing
	open   bool // some name in it has not been looked up: what depends on that is missing from its parts
	needs  []intent.DeviceIntentID
	parts  []part
	out    result
}

// part is one of the intents of an object; "" names the only one.
type part struct {
	name string
	spec intent.DeviceSpec
}

// offer is what objects that refer to an object have to know about it. The zero value is none.
type offer struct {
	scope        intent.Scope
	gone, broken bool
}

// translateResource turns an SD-WAN resource into device intents. One without a purpose is for no CNF.
func (t *Table) translateResource(ref object.Ref, o metav1.Object) (*result, []object.Problem) {
	e := t.begin(ref, ref.Kind, o)
	scope, ok := t.source.LabelledScope(o, &e.Faults)
	if !ok {
		return nil, e.List
	}
	e.scope, e.gone = scope, o.GetDeletionTimestamp() != nil
	e.read()
	if !e.broken {
		e.emit(e.adopts())
		e.leaveOpen()
	}
	out := e.out
	out.offer = offer{scope: e.scope, gone: e.gone, broken: e.broken}
	return &out, e.List
}

func (t *Table) begin(ref object.Ref, kind string, o metav1.Object) *translation {
	return &translation{Faults: field.Faults{Of: t.source.Origin(kind, o)}, Table: t, ref: ref, object: o}
}

// emit makes an intent of each part.
func (e *translation) emit(adopts string) {
	slices.Sort(e.needs)
	needs := slices.Clip(slices.Compact(e.needs))
	for _, p := range e.parts {
		e.out.intents = append(e.out.intents, &intent.DeviceIntent{
			ID:         intent.NewDeviceIntentID(e.scope, e.Of, p.name),
			Scope:      e.scope,
			Origin:     e.Of,
			Generation: e.object.GetGeneration(),
			Needs:      needs,
			Gone:       e.gone,
			Adopts:     adopts,
			Spec:       p.spec,
		})
	}
}

// leaveOpen adds Unknown intents for the kinds of which the object may ask for more than its parts, while a name in it
// has not been looked up. For an object that is being deleted, everything is deleted.
func (e *translation) leaveOpen() {
	if !e.open || e.gone {
		return
	}
	parts := []part{{"unknown/nat", &intent.LinkNAT{}}}
	if _, ok := e.object.(*v1alpha1.CNFHubSite); ok {
		parts = append(parts, part{"unknown/route", &intent.Route{}})
	}
	for _, p := range parts {
		e.out.intents = append(e.out.intents, &intent.DeviceIntent{
			ID:         intent.NewDeviceIntentID(e.scope, e.Of, p.name),
			Scope:      e.scope,
			Origin:     e.Of,
			Generation: e.object.GetGeneration(),
			Unknown:    true,
			Spec:       p.spec,
		})
	}
}

// adopts returns the name in the annotation. An object of several parts cannot take over a single one.
func (e *translation) adopts() string {
	name := e.object.GetAnnotations()[AdoptAnnotation]
	if name == "" {
		return ""
	}
	if len(e.parts) == 1 && e.parts[0].name == "" {
		return name
	}
	if len(e.parts) > 0 {
		e.Add("metadata.annotations["+AdoptAnnotation+"]", "expected a resource with a single object; the annotation is ignored")
	}
	return ""
}

// read parses the spec.
func (e *translation) read() {
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

// setOnlyPart makes spec the only part.
func (e *translation) setOnlyPart(spec intent.DeviceSpec) { e.parts = []part{{spec: spec}} }

// refuse reports a field without which the object is meaningless.
func (e *translation) refuse(path, format string, args ...any) {
	e.broken = true
	e.Add(path, format, args...)
}

// dependOn has the object translated again when the one with this key is created, changed or deleted.
func (e *translation) dependOn(key object.Ref) { e.out.looks = append(e.out.looks, key) }

// refer returns a reference to the object of a name, of the kind in the registry, if it is for the same CNFs, and otherwise
// to what the CNFs have under that name. An object that is being deleted is no longer referred to, except by objects that are
// being deleted as well and have to be deleted first.
func (e *translation) refer(path, name string) intent.DeviceRef {
	if name == "" || !e.matches(path, name, referencePattern, "a name of letters, digits, _, - or ., not starting or ending with - or .") {
		return intent.DeviceRef{}
	}
	r, _ := v1alpha1.ResourceOfKind(e.ref.Kind)
	key := object.Ref{Kind: r.RefersTo, Namespace: e.object.GetNamespace(), Name: name}
	e.dependOn(key)
	var to offer
	if there := e.translated[key]; there != nil {
		to = there.offer
	}
	switch {
	case to.scope != e.scope || to.gone && !e.gone:
		return intent.DeviceRef{Name: name}
	case to.broken:
		e.refuse(path, "%s is invalid", key.Path())
		return intent.DeviceRef{}
	}
	id := intent.NewDeviceIntentID(e.scope, intent.Origin{Cluster: e.source.Cluster, Kind: key.Kind, Namespace: key.Namespace, Name: name}, "")
	e.needs = append(e.needs, id)
	return intent.DeviceRef{ID: id}
}
