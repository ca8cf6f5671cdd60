package tungsten

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"

	"github.com/google/uuid"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/tungsten"
)

// Annotations of everything that netloom writes.
const (
	annotationOwner  = "netloom.io/owner"
	annotationFor    = "netloom.io/for"    // what an object represents, for people
	annotationOrigin = "netloom.io/origin" // KIND/NAMESPACE/NAME of the source object of a rule
	annotationRule   = "netloom.io/rule"   // its field in the source object
	annotationFull   = "netloom.io/full"   // of the policy set of ingress: the types of tags that the controller has no ID left for
)

// management is the parent of rules, policies, policy sets and address groups of global scope.
const management = "default-policy-management"

// typeLabel and typeFWaaS are the types of tags of which an object can have several.
const (
	typeLabel = "label"
	typeFWaaS = "neutron_fwaas"
)

// namer names the objects of one owner. Names are functions of what an object is for, and of bounded length.
type namer struct{ owner string }

// prefix begins the name of every object of the owner, and the value of every tag. No owner contains a dot.
func (n namer) prefix() string { return "netloom." + n.owner + "." }

// owns reports whether an object is the owner's.
func (n namer) owns(o *tungsten.Object) bool {
	if o.Kind == tungsten.KindTag {
		return len(o.FQName) == 1 && n.ownsTag(o.FQName[0])
	}
	if at, balances := balancerName(o); balances {
		// Pods choose a part of the names of their interfaces, but not a UUID.
		return at < len(o.FQName) && strings.HasPrefix(o.FQName[at], n.prefix()) &&
			o.UUID == n.uuid(o.Kind, strings.Join(o.FQName, ":"))
	}
	return len(o.FQName) == 2 && o.FQName[0] == management && strings.HasPrefix(o.FQName[1], n.prefix())
}

// balancerName returns which part of the fully qualified name of an object of a load balancer shows the owner: the last, or for a
// member that of its pool.
func balancerName(o *tungsten.Object) (at int, balances bool) {
	switch o.Kind { //nolint:exhaustive // of the kinds that load balancers consist of
	case tungsten.KindInterface, tungsten.KindInstanceIP, tungsten.KindLoadBalancer, tungsten.KindListener, tungsten.KindPool:
		return max(len(o.FQName)-1, 0), true
	case tungsten.KindMember:
		return max(len(o.FQName)-2, 0), true
	default:
		return 0, false
	}
}

// vipName begins the names of all objects of the load balancer of a VIP.
func (n namer) vipName(a netip.Addr) string { return n.prefix() + "vip." + a.String() }

// vipOf returns the VIP that an object of a load balancer belongs to.
func (n namer) vipOf(o *tungsten.Object) netip.Addr {
	at, balances := balancerName(o)
	if !balances || at >= len(o.FQName) {
		return netip.Addr{}
	}
	text, _, _ := strings.Cut(strings.TrimPrefix(o.FQName[at], n.prefix()+"vip."), "-")
	a, _ := netip.ParseAddr(text) // the zero address of an object that is not the owner's
	return a
}

func (n namer) ownsTag(name string) bool {
	for _, t := range []string{typeLabel, typeFWaaS} {
		if strings.HasPrefix(name, t+"="+n.prefix()) {
			return true
		}
	}
	return false
}

// uuid derives the UUID of an object. Its first bytes show the owner, so that a reference to an object that no longer exists is
// known to be the owner's, see ownsUUID.
func (n namer) uuid(kind tungsten.Kind, name string) string {
	owner, object := sha256.Sum256([]byte(n.prefix())), sha256.Sum256([]byte(string(kind)+"/"+name))
	var u uuid.UUID
	copy(u[:ownerBytes], owner[:])
	copy(u[ownerBytes:], object[:])
	u[6] = u[6]&0x0f | 0x50
	u[8] = u[8]&0x3f | 0x80
	return u.String()
}

const ownerBytes = 6

// ownsUUID reports whether uuid derived a UUID.
func (n namer) ownsUUID(id string) bool {
	const shown = 2*ownerBytes + 1 // with a dash
	return len(id) > shown && id[:shown] == n.uuid("", "")[:shown]
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// role is how rules use the members of a set. Each role has a tag of its own: joining one may only open, or only close.
type role string

// The roles: subject or peer of rules that allow, and of those that deny.
const (
	allowSubject role = "subject"
	allowPeer    role = "peer"
	denySubject  role = "denied-subject"
	denyPeer     role = "denied-peer"
)

func (r role) denies() bool { return r == denySubject || r == denyPeer }

// setTag names the tag of a set in a role.
func (n namer) setTag(r role, set intent.SetID) string {
	return typeLabel + "=" + n.prefix() + string(r) + "." + digest(string(set))
}

// isolatedTag names the tag of endpoints that NetworkPolicies isolate in a direction.
func (n namer) isolatedTag(d intent.Direction) string {
	return typeLabel + "=" + n.prefix() + "isolated." + d.String()
}

// coverTag names the tag of interfaces to which the policy set of a direction applies.
func (n namer) coverTag(d intent.Direction) string {
	if d == intent.Egress {
		return typeFWaaS + "=" + n.prefix() + "covered.egress"
	}
	return typeLabel + "=" + n.prefix() + "covered.ingress"
}

// isCoverTag and isDenyTag classify a tag of the owner by its name.
func (n namer) isCoverTag(name string) bool {
	return name == n.coverTag(intent.Ingress) || name == n.coverTag(intent.Egress)
}

// isBaseTag reports whether a tag is one of those without which policies are not enforced, or isolate whatever they govern.
func (n namer) isBaseTag(name string) bool {
	return n.isCoverTag(name) || name == n.isolatedTag(intent.Ingress) || name == n.isolatedTag(intent.Egress)
}

func (n namer) isDenyTag(name string) bool {
	_, value, _ := strings.Cut(name, "=")
	value = strings.TrimPrefix(value, n.prefix())
	kind, _, _ := strings.Cut(value, ".")
	return kind == "isolated" || role(kind).denies()
}

// groupName names the address group of a set in a role.
func (n namer) groupName(r role, set intent.SetID) string {
	return n.prefix() + string(r) + "." + digest(string(set))
}

// ruleName names a rule after its policy and content.
func (n namer) ruleName(of intent.PolicyID, content string) string {
	return n.prefix() + digest(string(of)+"\x00"+content)
}

// stageName begins the names of the firewall policies of a stage of a direction, and of the rules that no policy causes.
func (n namer) stageName(d intent.Direction, s stage) string {
	return fmt.Sprintf("%s%s.%d-%s", n.prefix(), d, s.base()-stageSystem, s)
}

// policyName names a firewall policy.
func (n namer) policyName(p part) string {
	name := n.stageName(p.direction, p.stage)
	if p.index > 0 {
		name += fmt.Sprintf("-%d", p.index+1)
	}
	return name
}

// setName names the application policy set of a direction.
func (n namer) setName(d intent.Direction) string { return n.prefix() + d.String() }

// sequenceOf returns the place of a rule among rules whose order does not matter: no two rules have the same.
func sequenceOf(rule string) string { return digest(rule) }

// place returns the n-th place in an order. It has a fixed width, because places are compared as text.
func place(n int) string { return fmt.Sprintf("%08d", n) }

// global spells a tag as a rule of global scope does.
func global(tag string) string { return "global:" + tag }

// stageOf returns the direction and the stage of a policy.
func (n namer) stageOf(policy *tungsten.Object) (intent.Direction, stage) {
	for _, p := range parts() {
		if policy.Name() == n.policyName(p) {
			return p.direction, p.stage
		}
	}
	return intent.Ingress, stageRest
}
