package verify

import (
	"strings"

	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

// origins finds the object that a row was written for.
type origins struct {
	groups map[string]*nbtrace.PortGroup
	ofACL  map[string]*nbtrace.PortGroup // the first group that has it
}

func newOrigins(rows *nbtrace.Rows) *origins {
	o := &origins{groups: map[string]*nbtrace.PortGroup{}, ofACL: map[string]*nbtrace.PortGroup{}}
	for i := range rows.PortGroups {
		g := &rows.PortGroups[i]
		o.groups[g.Name] = g
		for _, uuid := range g.ACLs {
			if o.ofACL[uuid] == nil {
				o.ofACL[uuid] = g
			}
		}
	}
	return o
}

// of names the object of an ACL, as Kind/namespace/name; "" if the row does not say.
func (o *origins) of(acl *nbtrace.ACL) string {
	if s := originIn(acl.ExternalIDs); s != "" {
		return s
	}
	if g := o.groups[acl.ExternalIDs["parent"]]; g != nil {
		return originIn(g.ExternalIDs)
	}
	if g := o.ofACL[acl.UUID]; g != nil {
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
