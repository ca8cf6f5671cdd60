package policygen

import (
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/test/oracle"
)

// clusterNetworks lists the networks that cluster-wide policies name.
func clusterNetworks(c *oracle.Cluster) []string {
	var all []string
	for _, p := range c.ClusterPolicies {
		for i := range p.Spec.Egress {
			for _, to := range p.Spec.Egress[i].To {
				all = appendTexts(all, to.Networks)
			}
		}
	}
	for _, p := range c.AdminPolicies {
		for i := range p.Spec.Egress {
			for _, to := range p.Spec.Egress[i].To {
				all = appendTexts(all, to.Networks)
			}
		}
	}
	for _, p := range c.BaselinePolicies {
		for i := range p.Spec.Egress {
			for _, to := range p.Spec.Egress[i].To {
				all = appendTexts(all, to.Networks)
			}
		}
	}
	return all
}

func appendTexts[T ~string](to []string, list []T) []string {
	for _, s := range list {
		to = append(to, string(s))
	}
	return to
}

// clusterPorts lists the ports that cluster-wide policies name, of ranges both ends.
func clusterPorts(c *oracle.Cluster) []int32 {
	var all []int32
	for _, p := range c.ClusterPolicies {
		for i := range p.Spec.Ingress {
			all = appendProtocols(all, p.Spec.Ingress[i].Protocols)
		}
		for i := range p.Spec.Egress {
			all = appendProtocols(all, p.Spec.Egress[i].Protocols)
		}
	}
	for _, p := range c.AdminPolicies {
		for i := range p.Spec.Ingress {
			all = appendAdminPorts(all, p.Spec.Ingress[i].Ports)
		}
		for i := range p.Spec.Egress {
			all = appendAdminPorts(all, p.Spec.Egress[i].Ports)
		}
	}
	for _, p := range c.BaselinePolicies {
		for i := range p.Spec.Ingress {
			all = appendAdminPorts(all, p.Spec.Ingress[i].Ports)
		}
		for i := range p.Spec.Egress {
			all = appendAdminPorts(all, p.Spec.Egress[i].Ports)
		}
	}
	return all
}

func appendProtocols(to []int32, list []v1alpha2.ClusterNetworkPolicyProtocol) []int32 {
	add := func(p *v1alpha2.Port) {
		if p == nil {
			return
		}
		to = append(to, p.Number)
		if p.Range != nil {
			to = append(to, p.Range.Start, p.Range.End)
		}
	}
	for _, p := range list {
		if p.TCP != nil {
			add(p.TCP.DestinationPort)
		}
		if p.UDP != nil {
			add(p.UDP.DestinationPort)
		}
		if p.SCTP != nil {
			add(p.SCTP.DestinationPort)
		}
	}
	return to
}

func appendAdminPorts(to []int32, list *[]v1alpha1.AdminNetworkPolicyPort) []int32 {
	if list == nil {
		return to
	}
	for _, p := range *list {
		if p.PortNumber != nil {
			to = append(to, p.PortNumber.Port)
		}
		if p.PortRange != nil {
			to = append(to, p.PortRange.Start, p.PortRange.End)
		}
	}
	return to
}
