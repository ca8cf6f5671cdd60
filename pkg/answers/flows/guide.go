package flows

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/inputs/acllog"
	"github.com/netloom/netloom/pkg/intent"
)

// Guide finds the pods and the rules that an entry of a log is about. It is read-only and safe for concurrent use.
type Guide struct {
	inventory *world.World
	rules     map[string][]intent.RuleRef
}

// NewGuide makes the guide of a state. Rules are those that an ACL name stands for; a name without any is that of an ACL that decides
// nothing.
func NewGuide(inventory *world.World, rules map[string][]intent.RuleRef) *Guide {
	return &Guide{inventory: inventory, rules: rules}
}

// Key is what distinguishes flows. It is comparable.
type Key struct {
	From, To string  // a pod as namespace/name, node/NAME or an address
	Port     string  // such as tcp/5432, or icmp
	Verdict  Verdict // of the ACL
	// Policy and Rule are what the ACL came from, such as NetworkPolicy/shop/db and spec.ingress[0]; "" if no policy is
	// known to have such an ACL. The rule is Isolation for a default deny.
	Policy, Rule string
	ACL          string // its name, printable; "" if it has none
	owner        string // whose share of a table it takes
}

// Verdict is what happened to a flow.
type Verdict string

// The verdicts.
const (
	Allowed Verdict = "allowed"
	Denied  Verdict = "denied"
)

// Isolation is the rule of what a policy denies because none of its rules allows it.
const Isolation = "default deny"

// maxName is the longest name of an ACL that is kept; OVN allows 63 characters.
const maxName = 128

// Key describes an entry. It returns false for an entry that decides nothing, such as one of an ACL that passes on.
func (g *Guide) Key(e *acllog.Entry) (Key, bool) {
	if refs, known := g.rules[e.Name]; known && len(refs) == 0 {
		return Key{}, false
	}
	k := Key{Port: portOf(e), ACL: Printable(e.Name), Verdict: Allowed}
	switch e.Verdict {
	case acllog.Drop, acllog.Reject:
		k.Verdict = Denied
	case acllog.Allow:
	case acllog.Pass:
		return Key{}, false
	}
	from, fromPod := g.inventory.At(e.Src.Unmap())
	to, toPod := g.inventory.At(e.Dst.Unmap())
	k.From, k.To = from, to
	switch {
	case fromPod:
		k.owner = from
	case toPod:
		k.owner = "to " + to
	}
	k.Policy, k.Rule = g.source(e)
	return k, true
}

// source returns the policy and the rule that an entry's ACL came from. Of several with the same name, the first that exists
// in the direction of the entry.
func (g *Guide) source(e *acllog.Entry) (policy, rule string) {
	for _, ref := range g.rules[e.Name] {
		p := g.inventory.Snapshot().Policy(ref.Policy)
		if p == nil || e.Direction != "" && (p.Direction == intent.Ingress) != (e.Direction == "to-lport") {
			continue
		}
		if ref.Rule < 0 {
			return p.Origin.String(), Isolation
		}
		if ref.Rule < len(p.Rules) {
			return p.Origin.String(), p.Rules[ref.Rule].Path
		}
	}
	return foreign(e.Name)
}

// foreign reads the names that ovn-kubernetes and kube-ovn give to the ACLs of NetworkPolicies.
func foreign(name string) (policy, rule string) {
	if parts := strings.Split(name, ":"); parts[0] == "NP" {
		switch len(parts) {
		case 5: // NP:NAMESPACE:POLICY:Ingress:0
			return "NetworkPolicy/" + Printable(parts[1]+"/"+parts[2]),
				Printable(fmt.Sprintf("spec.%s[%s]", strings.ToLower(parts[3]), parts[4]))
		case 3: // NP:NAMESPACE:Ingress
			return "the NetworkPolicies of namespace " + Printable(parts[1]), Isolation
		}
	}
	if parts := strings.Split(name, "/"); len(parts) == 5 && parts[0] == "np" { // np/POLICY.NAMESPACE/ingress/IPv4/0
		if at := strings.LastIndexByte(parts[1], '.'); at > 0 {
			return "NetworkPolicy/" + Printable(parts[1][at+1:]+"/"+parts[1][:at]), Printable(fmt.Sprintf("spec.%s[%s]", parts[2], parts[4]))
		}
	}
	return "", ""
}

// Printable returns a name that others chose with everything that does not print replaced, at most maxName bytes of it.
func Printable(name string) string {
	cut := len(name) > maxName
	if cut {
		name = name[:maxName]
		for len(name) > 0 && !utf8.ValidString(name) && !utf8.RuneStart(name[len(name)-1]) {
			name = name[:len(name)-1]
		}
	}
	name = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, name)
	if cut {
		name += "…"
	}
	return name
}
