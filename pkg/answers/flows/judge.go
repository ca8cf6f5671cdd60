package flows

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/inputs/acllog"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Judge finds the connections in ACL logs that staged policies would decide differently from what is in force. Both verdicts are those of
// netloom's own evaluation: a log only says that there was a connection. It is read-only and safe for concurrent use.
type Judge struct {
	inventory *world.World
	would     *world.World // nil if nothing is staged
	rules     map[string][]intent.RuleRef
	staged    map[string]bool // policies, as origins are written
	refs      map[string]object.Ref
	replacing map[string]string // staged policies, by the policy that they are to replace
	names     []string          // of the staged policies, sorted
}

// NewJudge makes the judge of a state. Rules are those that an ACL name stands for; a name without any is that of an ACL that only observes.
func NewJudge(inventory *world.World, rules map[string][]intent.RuleRef) *Judge {
	j := &Judge{inventory: inventory, would: inventory.WouldBe(), rules: rules, staged: map[string]bool{}, refs: map[string]object.Ref{}, replacing: map[string]string{}}
	for _, s := range inventory.State.Staged {
		name := originText(inventory.State.Cluster, s.Policy)
		j.staged[name], j.refs[name], j.names = true, s.Policy, append(j.names, name)
		if s.Replaces != (object.Ref{}) {
			j.replacing[originText(inventory.State.Cluster, s.Replaces)] = name
		}
	}
	slices.Sort(j.names)
	return j
}

func originText(cluster string, ref object.Ref) string {
	return intent.Origin{Cluster: cluster, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}.String()
}

// Difference distinguishes the flows that a staged policy would decide differently. It is comparable.
type Difference struct {
	Policy    string           // the staged policy, such as NetworkPolicy/shop/db-staged
	Rule      string           // its rule that would decide, such as spec.egress[0]; Isolation or Replaced otherwise
	From, To  string           // as in Key
	Port      string           // as in Key
	Direction intent.Direction // of the policy
	Would     Verdict
}

// Replaced is the rule of what is decided differently because the policy that is to be replaced no longer decides.
const Replaced = "without the policy that it replaces"

// ruling is what a Judge finds about an entry.
type ruling struct {
	selected []string // the staged policies that are about the entry: they, or the policies that they replace, select its pod
	differ   []Difference
	observed bool // by an ACL that does nothing but observe
}

// judge rules on an entry. It returns false if no staged policy is about it. The entry is judged in its own direction only, in which a
// connection is seen once; one that is denied either way is no difference.
func (j *Judge) judge(e *acllog.Entry) (ruling, bool) {
	protocol, ok := protocolOf(e.Protocol)
	if j.would == nil || !ok || e.Direction == "" {
		return ruling{}, false
	}
	d := intent.Egress
	if e.Direction == "to-lport" {
		d = intent.Ingress
	}
	f := intent.Flow{
		Src: intent.Party{Addr: e.Src.Unmap()}, Dst: intent.Party{Addr: e.Dst.Unmap()}, Protocol: protocol, Port: e.Port,
	}
	subject, _ := world.Parties(&f, d)
	out := ruling{selected: j.selecting(d, subject)}
	if len(out.selected) == 0 {
		return ruling{}, false
	}
	refs, known := j.rules[e.Name]
	out.observed = known && len(refs) == 0
	now, would := j.inventory.Snapshot().Evaluate(f), j.would.Snapshot().Evaluate(f)
	was, is := sideOf(&now, d), sideOf(&would, d)
	if now.Allowed == would.Allowed || was.Allowed == is.Allowed {
		return out, true
	}
	diff := Difference{From: j.at(f.Src.Addr), To: j.at(f.Dst.Addr), Port: portOf(e), Direction: d, Would: Denied}
	if would.Allowed {
		diff.Would = Allowed
	}
	for diff.Policy, diff.Rule = range j.causes(was, is) {
		out.differ = append(out.differ, diff)
	}
	return out, true
}

func (j *Judge) at(a netip.Addr) string {
	text, _ := j.inventory.At(a)
	return text
}

// selecting lists the staged policies that select a party, or are to replace one that does, each once.
func (j *Judge) selecting(d intent.Direction, p intent.Party) []string {
	var out []string
	add := func(name string) {
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, policy := range j.would.PoliciesOf(d, p) {
		if name := policy.Origin.String(); j.staged[name] {
			add(name)
		}
	}
	if len(j.replacing) > 0 {
		for _, policy := range j.inventory.PoliciesOf(d, p) {
			add(j.replacing[policy.Origin.String()])
		}
	}
	return out
}

// causes returns the staged policies that make the difference between two decisions, each with the rule of it that decides.
func (j *Judge) causes(was, is *intent.Decision) map[string]string {
	out := map[string]string{}
	for _, ref := range slices.Concat(is.By, is.Passed) {
		p := j.would.Snapshot().Policy(ref.Policy)
		if p == nil || !j.staged[p.Origin.String()] {
			continue
		}
		rule := Isolation
		if ref.Rule >= 0 && ref.Rule < len(p.Rules) {
			rule = p.Rules[ref.Rule].Path
		}
		out[p.Origin.String()] = cmp.Or(out[p.Origin.String()], rule)
	}
	if len(out) > 0 {
		return out
	}
	for _, ref := range slices.Concat(was.By, was.Passed) {
		if p := j.inventory.Snapshot().Policy(ref.Policy); p != nil && j.replacing[p.Origin.String()] != "" {
			out[j.replacing[p.Origin.String()]] = Replaced
		}
	}
	return out
}

func sideOf(v *intent.Verdict, d intent.Direction) *intent.Decision {
	if d == intent.Ingress {
		return &v.Ingress
	}
	return &v.Egress
}

// protocolOf reads the protocol of an entry; false for one that policies do not know.
func protocolOf(name string) (intent.Protocol, bool) {
	p, ok := map[string]intent.Protocol{
		"tcp": intent.TCP, "udp": intent.UDP, "sctp": intent.SCTP, "icmp": intent.ICMP, "icmp6": intent.ICMPv6,
	}[name]
	return p, ok
}

// portOf is the port of an entry, such as tcp/5432, or only the protocol if it has none.
func portOf(e *acllog.Entry) string {
	if e.Protocol == "tcp" || e.Protocol == "udp" || e.Protocol == "sctp" {
		return fmt.Sprintf("%s/%d", e.Protocol, e.Port)
	}
	return e.Protocol
}

// Text describes a difference in a line, without its policy.
func (d *Difference) Text() string {
	return fmt.Sprintf("%s -> %s %s would be %s for %s, by %s", d.From, d.To, d.Port, d.Would, d.Direction, d.Rule)
}
