package lint

import (
	"fmt"
	"net/netip"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/object/address"
)

// eachBlock calls do for every ipBlock of a policy that can be parsed, with its excepts.
func eachBlock(np *networkingv1.NetworkPolicy, do func(field string, cidr netip.Prefix, excepts []netip.Prefix)) {
	look := func(field string, b *networkingv1.IPBlock) {
		if b == nil {
			return
		}
		cidr, err := address.ParsePrefix(b.CIDR)
		if err != nil {
			return // the translator has reported it
		}
		excepts := make([]netip.Prefix, len(b.Except))
		for i, text := range b.Except {
			if excepts[i], err = address.ParsePrefix(text); err != nil {
				return // likewise
			}
		}
		do(field, cidr.Masked(), excepts)
	}
	for i := range np.Spec.Ingress {
		for k := range np.Spec.Ingress[i].From {
			look(fmt.Sprintf("spec.ingress[%d].from[%d].ipBlock", i, k), np.Spec.Ingress[i].From[k].IPBlock)
		}
	}
	for i := range np.Spec.Egress {
		for k := range np.Spec.Egress[i].To {
			look(fmt.Sprintf("spec.egress[%d].to[%d].ipBlock", i, k), np.Spec.Egress[i].To[k].IPBlock)
		}
	}
}

// blocks finds excepts that exclude nothing, and those that leave nothing.
func blocks(ref object.Ref, np *networkingv1.NetworkPolicy) []Finding {
	var out []Finding
	eachBlock(np, func(field string, cidr netip.Prefix, excepts []netip.Prefix) {
		var inside []netip.Prefix
		for i, e := range excepts {
			if !cidr.Overlaps(e) {
				out = append(out, newFinding(ExceptOutside, ref, fmt.Sprintf("%s.except[%d]", field, i),
					fmt.Sprintf("%s is outside of %s and excludes nothing", e, cidr)))
				continue
			}
			inside = append(inside, e.Masked())
		}
		if _, nothing := intent.SubtractAtMost(cidr, inside, 0); nothing && len(inside) > 0 {
			out = append(out, newFinding(EmptyBlock, ref, field+".except", fmt.Sprintf("leaves nothing of %s", cidr)))
		}
	})
	return out
}
