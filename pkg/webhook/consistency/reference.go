package consistency

import (
	"fmt"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
)

// reference is the name of another object of the same namespace and CNF in a field.
type reference struct{ field, kind, name string }

// Kinds lists those that refer to others or are referred to.
func Kinds() []string {
	var kinds []string
	for _, r := range v1alpha1.Resources() {
		if r.RefersTo != "" || r.Referenced() {
			kinds = append(kinds, r.Kind)
		}
	}
	return kinds
}

// referencesOf lists what an object refers to. Unset fields refer to nothing.
func referencesOf(object any) []reference {
	var all references
	switch o := object.(type) {
	case *v1alpha1.Mwan3Rule:
		all.add("spec.policy", v1alpha1.KindMwan3Policy, string(o.Spec.Policy))
	case *v1alpha1.FirewallRule:
		all.zones(o.Spec.Src, o.Spec.Dest)
	case *v1alpha1.FirewallForwarding:
		all.zones(o.Spec.Src, o.Spec.Dest)
	case *v1alpha1.FirewallSNAT:
		all.zones(o.Spec.Src, o.Spec.Dest)
	case *v1alpha1.FirewallDNAT:
		all.zones(o.Spec.Src, o.Spec.Dest)
	case *v1alpha1.IpsecSite:
		all.proposals("spec.crypto_proposal", o.Spec.CryptoProposal)
		for i := range o.Spec.Connections {
			all.proposals(fmt.Sprintf("spec.connections[%d].crypto_proposal", i), o.Spec.Connections[i].CryptoProposal)
		}
	case *v1alpha1.IpsecHost:
		all.proposals("spec.crypto_proposal", o.Spec.CryptoProposal)
		for i := range o.Spec.Connections {
			all.proposals(fmt.Sprintf("spec.connections[%d].crypto_proposal", i), o.Spec.Connections[i].CryptoProposal)
		}
	}
	return all
}

type references []reference

func (r *references) add(field, kind, name string) {
	if name != "" {
		*r = append(*r, reference{field, kind, name})
	}
}

func (r *references) zones(src, dest v1alpha1.Zone) {
	r.add("spec.src", v1alpha1.KindFirewallZone, string(src))
	r.add("spec.dest", v1alpha1.KindFirewallZone, string(dest))
}

func (r *references) proposals(field string, names []v1alpha1.Reference) {
	for i, n := range names {
		r.add(fmt.Sprintf("%s[%d]", field, i), v1alpha1.KindIpsecProposal, string(n))
	}
}

// plainSecrets lists the fields of an object in which a secret stands in clear, each with the field that should be used.
func plainSecrets(object any) [][2]string {
	var peer *v1alpha1.IpsecPeer
	switch o := object.(type) {
	case *v1alpha1.IpsecSite:
		peer = &o.Spec.IpsecPeer
	case *v1alpha1.IpsecHost:
		peer = &o.Spec.IpsecPeer
	default:
		return nil
	}
	var fields [][2]string
	if peer.PreSharedKey != "" {
		fields = append(fields, [2]string{"spec.pre_shared_key", "pre_shared_key_secret"})
	}
	if peer.LocalPrivateCert != "" {
		fields = append(fields, [2]string{"spec.local_private_cert", "local_private_cert_secret"})
	}
	return fields
}
