package translator

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/intent"
)

// portClaim is a port of the gateways of a scope, which leads to one service only.
type portClaim struct {
	scope    intent.Scope
	protocol string
	port     uint16
}

// claimant is who claims a port: a resource that asks for it goes before a Service that has it by its label, then an older
// one before a younger.
type claimant struct {
	key     objectKey
	created metav1.Time
}

func (c claimant) compare(o claimant) int {
	rule := func(c claimant) int {
		if c.key.kind == kindServiceRule {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(rule(c), rule(o)),
		compareBools(c.created.IsZero(), o.created.IsZero()),
		c.created.Compare(o.created.Time),
		c.key.compare(o.key),
	)
}

// portClaims lists for each port who claims it, the one who has it first.
type portClaims map[portClaim][]claimant

// madeClaim is a port that an object claims.
type madeClaim struct {
	portClaim
	by claimant
}

// replace makes the claims of a translation those of now instead of those of was. It returns the others that claim a port
// which another has from now on.
func (c portClaims) replace(was, now []madeClaim) []objectKey {
	var rivals []objectKey
	change := func(of portClaim, edit func([]claimant) []claimant) {
		list := c[of]
		var first claimant
		if len(list) > 0 {
			first = list[0]
		}
		if list = edit(list); len(list) == 0 {
			delete(c, of)
			return
		}
		c[of] = list
		if list[0] == first {
			return
		}
		for _, r := range list {
			rivals = append(rivals, r.key)
		}
	}
	for _, m := range was {
		if !slices.Contains(now, m) {
			change(m.portClaim, func(list []claimant) []claimant {
				return slices.DeleteFunc(list, func(o claimant) bool { return o == m.by })
			})
		}
	}
	for _, m := range now {
		if !slices.Contains(was, m) {
			change(m.portClaim, func(list []claimant) []claimant {
				i, _ := slices.BinarySearchFunc(list, m.by, claimant.compare)
				return slices.Insert(list, i, m.by)
			})
		}
	}
	return rivals
}

// claim says whether a port is the object's own, and reports who else has it. What goes claims nothing.
func (e *edgeTranslation) claim(field string, of portClaim) bool {
	if e.gone {
		return true
	}
	own := madeClaim{of, claimant{e.key, e.object.GetCreationTimestamp()}}
	if slices.Contains(e.out.claims, own) {
		e.add(field, "%s/%d is there already; it is left out here", of.protocol, of.port)
		return false
	}
	e.out.claims = append(e.out.claims, own)
	for _, first := range e.edges.claims[of] {
		if first.key == e.key {
			continue // as it was before
		}
		if first.compare(own.by) < 0 {
			holder := first.key
			if holder.kind == kindServiceRule {
				holder.kind = KindService
			}
			e.add(field, "%s/%d of the gateways of %s belongs to %s, which comes first; it is left out",
				of.protocol, of.port, of.scope, holder)
			return false
		}
		break
	}
	return true
}
