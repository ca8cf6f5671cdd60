package verify

import (
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

// origins finds the object that a row was written for.
type origins struct {
	groups map[string]*nbtrace.PortGroup
	ofACL  map[string]*nbtrace.PortGroup // the first group that has it
	notes  map[string][]string           // of netloom: the policies that share the ACLs of a group, by the ID of the group
}

func newOrigins(rows *nbtrace.Rows) *origins {
	o := &origins{groups: map[string]*nbtrace.PortGroup{}, ofACL: map[string]*nbtrace.PortGroup{}, notes: map[string][]string{}}
	for i := range rows.PortGroups {
		g := &rows.PortGroups[i]
		o.groups[g.Name] = g
		for _, uuid := range g.ACLs {
			if o.ofACL[uuid] == nil {
				o.ofACL[uuid] = g
			}
		}
	}
	for i := range rows.AddressSets {
		o.note(rows.AddressSets[i].ExternalIDs)
	}
	return o
}

// note adds what an address set notes, if it has the notes of a namespace: by the ID of the policy, which ends in its direction, the groups or ACLs
// and the rules in "GROUP PATH; GROUP PATH". Earlier versions had notes for each group: by policy, without its direction, the rules.
func (o *origins) note(ids map[string]string) {
	group, byGroup := strings.CutPrefix(ids["netloom.io/id"], "notes/")
	byPolicy := strings.HasPrefix(ids["netloom.io/id"], "policies/")
	for key, text := range ids {
		switch {
		case !strings.Contains(key, "/") || strings.HasPrefix(key, "netloom.io/"):
		case byGroup:
			o.notes[group] = append(o.notes[group], key)
		case byPolicy:
			policy := key[:strings.LastIndex(key, "/")]
			for note := range strings.SplitSeq(text, "; ") {
				of, _, _ := strings.Cut(note, " ")
				o.notes[of] = append(o.notes[of], policy)
			}
		}
	}
}

// shownSharers is how many of the policies that share an ACL are named.
const shownSharers = 3

// sharers names the policies that share the ACLs of a group.
func (o *origins) sharers(group string) string {
	names := slices.Sorted(slices.Values(o.notes[group]))
	return object.Few(slices.Compact(names), shownSharers)
}

// of names the object of an ACL, as Kind/namespace/name, or several of them; "" if the row does not say.
func (o *origins) of(acl *nbtrace.ACL) string {
	if s := originIn(acl.ExternalIDs); s != "" {
		return s
	}
	if g := o.groups[acl.ExternalIDs["parent"]]; g != nil {
		return originIn(g.ExternalIDs)
	}
	if g := o.ofACL[acl.UUID]; g != nil {
		if by := o.sharers(g.ExternalIDs["netloom.io/id"]); by != "" {
			return by
		}
		return originIn(g.ExternalIDs)
	}
	return ""
}

// originIn reads the external_ids of netloom, ovn-kubernetes, kube-ovn and Neutron.
func originIn(ids map[string]string) string {
	name := strings.ReplaceAll(ids["k8s.ovn.org/name"], ":", "/")
	switch owner := ids["k8s.ovn.org/owner-type"]; {
	case ids["netloom.io/kind"] != "":
		return joined(ids["netloom.io/kind"], ids["netloom.io/namespace"], ids["netloom.io/name"])
	case owner == "NetpolNamespace":
		return joined("Namespace", name)
	case owner == "NetpolNode":
		return joined("Node", name)
	case owner == "EgressFirewall" && !strings.Contains(name, "/"):
		return joined(owner, name, "default")
	case owner != "":
		return joined(owner, name)
	case ids["node"] != "":
		return joined("Node", ids["node"])
	case ids["np"] != "":
		return joined("NetworkPolicy", ids["np"])
	case ids["anp"] != "":
		return joined("AdminNetworkPolicy", ids["anp"])
	case ids["banp"] != "":
		return joined("BaselineAdminNetworkPolicy", ids["banp"])
	case ids["cnp"] != "":
		return joined("ClusterNetworkPolicy", ids["cnp"])
	case ids["subnet"] != "":
		return joined("Subnet", ids["subnet"])
	case ids["sg"] != "":
		return joined("SecurityGroup", ids["sg"])
	case ids["neutron:security_group_id"] != "":
		return joined("SecurityGroup", ids["neutron:security_group_id"])
	}
	return ""
}

func joined(parts ...string) string {
	var named []string
	for _, p := range parts {
		if p != "" {
			named = append(named, p)
		}
	}
	return strings.Join(named, "/")
}
