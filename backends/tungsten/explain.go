package tungsten

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/tungsten"
)

// Explainer explains which firewall rules policies become, without querying a controller. Any goroutine may use it.
type Explainer struct {
	names namer
	local locality

	mu            sync.Mutex
	from, lowered *intent.Snapshot // the last snapshot that was lowered, and its lowered form
	services      *services        // of lowered
}

// NewExplainer returns an Explainer for the objects of an owner.
func NewExplainer(owner string) *Explainer { return &Explainer{names: namer{owner}} }

// Terms implements backends.Explainer.
func (e *Explainer) Terms() (target, row string) { return "Tungsten Fabric", "firewall rule" }

// asRendered returns the snapshot that is rendered for want.
func (e *Explainer) asRendered(want *intent.Snapshot) (*intent.Snapshot, *services) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.from != want {
		e.from, e.lowered = want, intent.Lower(want, maxRaised)
		e.services = servicesOf(e.lowered, nil)
	}
	return e.lowered, e.services.fresh()
}

// rulesOf renders the i-th rule of a policy for connections to the addresses of Services, or for all others.
func (r *rendering) rulesOf(p *intent.Policy, i int, vip bool) []*tungsten.Object {
	allows := p.Rules[i].Action == intent.Allow || p.Rules[i].Action == intent.Pass && p.Tier == intent.TierBaseline
	if p.Tier == intent.TierSystem && !allows {
		return nil
	}
	s := stageAllow // which of these stages makes no difference
	if vip {
		s = stageVIPAllow
	}
	var out []*tungsten.Object
	for _, name := range r.ruleOf(s, p, i, allows) {
		out = append(out, r.objects[r.names.uuid(tungsten.KindFirewallRule, name)])
	}
	return out
}

// PolicyRows implements backends.Explainer. The rows are firewall rules, by rule. Isolation itself is a rule that all policies
// share, and is not included. A vrouter has no flows before there are connections, so none are counted.
func (e *Explainer) PolicyRows(want *intent.Snapshot, of intent.Origin) []backends.PolicyRow {
	want, services := e.asRendered(want)
	r := newRendering(e.names, e.local, want, limits{}, services)
	var out []backends.PolicyRow
	for p := range want.Policies() {
		if p.Origin != of {
			continue
		}
		rendered := map[*tungsten.Object]bool{}
		for i := range p.Rules {
			for _, o := range append(r.rulesOf(p, i, false), r.rulesOf(p, i, true)...) {
				if rendered[o] {
					continue
				}
				rendered[o] = true
				out = append(out, backends.PolicyRow{
					Rule: o.Annotations.Get(annotationRule), Name: o.Name(), Priority: int(stageOf(p, o)), Action: o.ActionList.SimpleAction,
					Match: r.match(o),
				})
			}
		}
	}
	slices.SortFunc(out, func(a, b backends.PolicyRow) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Match, b.Match), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// stageOf returns the stage of a rule of a policy.
func stageOf(p *intent.Policy, rule *tungsten.Object) stage {
	switch {
	case p.Tier == intent.TierSystem:
		return stageSystem
	case p.Tier == intent.TierAdmin:
		return stageAdmin
	case p.Tier == intent.TierBaseline:
		return stageBaseline
	case passes(rule):
		return stageAllow
	default:
		return stageDeny
	}
}

// match describes what a rule matches, with the sets that tags and address groups stand for.
func (r *rendering) match(o *tungsten.Object) string {
	ports := ""
	if p := o.Service.DstPorts; p.Start != 0 || p.End != maxPort {
		ports = fmt.Sprintf(" %d-%d", p.Start, p.End)
	}
	return fmt.Sprintf("%s > %s %s%s", r.end(o.Endpoint1), r.end(o.Endpoint2), o.Service.Protocol, ports)
}

func (r *rendering) end(e *tungsten.Endpoint) string {
	var parts []string
	for _, t := range e.Tags {
		tag := strings.TrimPrefix(t, "global:")
		for _, u := range r.uses {
			if u.tag == tag {
				parts = append(parts, "["+r.title(u.set)+"]")
				break
			}
		}
	}
	switch {
	case e.AddressGroup != "":
		_, name, _ := strings.Cut(e.AddressGroup, ":")
		if g := r.objects[r.names.uuid(tungsten.KindAddressGroup, name)]; g != nil {
			return "[" + g.Annotations.Get(annotationFor) + "]"
		}
		return name
	case len(parts) > 0:
		return strings.Join(parts, " and ")
	default:
		return "any"
	}
}

// DecidingRows implements backends.Explainer. For a connection to the address of a Service they are the rules by which the vrouter
// decides on it, before the address is translated.
func (e *Explainer) DecidingRows(
	want *intent.Snapshot, f *intent.Flow, d intent.Direction, by []intent.RuleRef,
) []backends.DecidingRow {
	lowered, services := e.asRendered(want)
	if lowered != want {
		want = lowered
		v := want.Evaluate(*f)
		if by = v.Egress.By; d == intent.Ingress {
			by = v.Ingress.By
		}
	}
	r := newRendering(e.names, e.local, want, limits{}, services)
	vip := services.has(f.Dst.Addr)
	isolation := stageIsolation
	if vip {
		isolation = stageVIPIsolation
	}
	var out []backends.DecidingRow
	for _, ref := range by {
		if ref.Rule < 0 {
			for _, rule := range r.stage(d, isolation) {
				out = append(out, deciding(r.objects[rule.UUID], "default deny, "+d.String()))
			}
			continue
		}
		p := want.Policy(ref.Policy)
		for _, o := range r.rulesOf(p, ref.Rule, vip) {
			out = append(out, deciding(o, p.Origin.String()+" "+p.Rules[ref.Rule].Path))
		}
	}
	slices.SortFunc(out, func(a, b backends.DecidingRow) int {
		return cmp.Or(cmp.Compare(a.For, b.For), cmp.Compare(a.UUID, b.UUID))
	})
	return slices.Compact(out)
}

func deciding(o *tungsten.Object, what string) backends.DecidingRow {
	return backends.DecidingRow{Table: string(o.Kind), Name: o.Name(), UUID: o.UUID, For: what}
}

// Skips implements backends.Explainer. Which endpoints a floating IP reaches depends on the controller, and is not among them.
func (e *Explainer) Skips(want *intent.Snapshot) []backends.Skip {
	lowering := intent.NewLowering(maxRaised)
	lowered := lowering.Next(want)
	out := overflows(lowering)
	out = append(out, render(e.names, e.local, lowered, limits{}, nil).skips...)
	return append(out, unservable(e.names, want)...)
}

// Estimate implements backends.Explainer. It counts firewall rules.
func (e *Explainer) Estimate(want *intent.Snapshot) backends.Estimate {
	n := 0
	lowered, _ := e.asRendered(want)
	for _, o := range render(e.names, e.local, lowered, limits{}, nil).objects {
		if o.Kind == tungsten.KindFirewallRule {
			n++
		}
	}
	return backends.Estimate{ACLs: n, Flows: map[string]int{}}
}
