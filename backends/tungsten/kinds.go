package tungsten

import "github.com/netloom/netloom/pkg/tungsten"

// kinds lists the kinds of objects that the backend writes, referents first.
func kinds() []tungsten.Kind {
	return []tungsten.Kind{
		tungsten.KindTag, tungsten.KindAddressGroup, tungsten.KindFirewallRule, tungsten.KindFirewallPolicy,
		tungsten.KindApplicationPolicySet,
	}
}

// balancerKinds lists the kinds that load balancers consist of, referents first. Their lists contain objects of others.
func balancerKinds() []tungsten.Kind {
	return []tungsten.Kind{
		tungsten.KindInterface, tungsten.KindInstanceIP, tungsten.KindLoadBalancer, tungsten.KindListener, tungsten.KindPool,
		tungsten.KindMember,
	}
}

// watchedKinds lists the kinds of objects of the owner that are watched, besides interfaces and instance IPs.
func watchedKinds() []tungsten.Kind {
	return append(kinds(), tungsten.KindLoadBalancer, tungsten.KindListener, tungsten.KindPool, tungsten.KindMember)
}

// fieldsOf selects what events show of a kind; nil is everything. A policy announces itself with all of its rules whenever it gains one,
// which would cost the square of their number.
func fieldsOf(kind tungsten.Kind) []string {
	if kind == tungsten.KindFirewallPolicy {
		return []string{"annotations"}
	}
	return nil
}
