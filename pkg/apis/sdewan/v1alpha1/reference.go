package v1alpha1

import "fmt"

// ObjectReference is a field that names another object in the same namespace, for the same CNF.
//
// +kubebuilder:object:generate=false
type ObjectReference struct {
	Field string // its path, such as spec.policy
	Kind  string // of the other object
	Name  string
}

// ReferencesOf lists the references of an object. Unset fields are omitted.
func ReferencesOf(object any) []ObjectReference {
	r, _, _ := ResourceOf(object)
	refs := references{kind: r.RefersTo}
	switch o := object.(type) {
	case *Mwan3Rule:
		refs.add("spec.policy", string(o.Spec.Policy))
	case *FirewallRule:
		refs.zones(o.Spec.Src, o.Spec.Dest)
	case *FirewallForwarding:
		refs.zones(o.Spec.Src, o.Spec.Dest)
	case *FirewallSNAT:
		refs.zones(o.Spec.Src, o.Spec.Dest)
	case *FirewallDNAT:
		refs.zones(o.Spec.Src, o.Spec.Dest)
	case *IpsecSite:
		refs.addAll("spec.crypto_proposal", o.Spec.CryptoProposal)
		for i := range o.Spec.Connections {
			refs.addAll(fmt.Sprintf("spec.connections[%d].crypto_proposal", i), o.Spec.Connections[i].CryptoProposal)
		}
	case *IpsecHost:
		refs.addAll("spec.crypto_proposal", o.Spec.CryptoProposal)
		for i := range o.Spec.Connections {
			refs.addAll(fmt.Sprintf("spec.connections[%d].crypto_proposal", i), o.Spec.Connections[i].CryptoProposal)
		}
	}
	return refs.all
}

// references collects the references of one object.
//
// +kubebuilder:object:generate=false
type references struct {
	kind string
	all  []ObjectReference
}

func (r *references) add(field, name string) {
	if name != "" {
		r.all = append(r.all, ObjectReference{field, r.kind, name})
	}
}

func (r *references) addAll(field string, names []Reference) {
	for i, n := range names {
		r.add(fmt.Sprintf("%s[%d]", field, i), string(n))
	}
}

func (r *references) zones(src, dest Zone) {
	r.add("spec.src", string(src))
	r.add("spec.dest", string(dest))
}
