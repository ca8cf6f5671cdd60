package nbtrace

import "net/netip"

// Trace evaluates one packet. A packet from an address to itself never reaches a switch and is allowed.
func (t *Tracer) Trace(p Packet) Result {
	skip := Step{Verdict: Skipped}
	if !p.ARP && p.Src.IsValid() && p.Src == p.Dst {
		return Result{Allowed: true, Egress: skip, Ingress: skip}
	}
	egress := skip
	if p.Inport != "" {
		// The output port is not known yet, so no match can refer to it.
		egress = t.stage(stageFrom, p.Inport, newView(&p, p.Inport, ""))
		if sw, ok := t.switchOf[p.Inport]; ok && egress.Verdict.Allows() {
			if b, v := t.balanced(t.onSwitch[sw], &p); b != nil {
				return t.viaSwitch(&p, egress, b, v)
			}
		}
		egress = t.afterLB(&p, egress)
	}
	if p.Router != "" && egress.Verdict.Allows() {
		if b, _ := t.balanced(t.onRouter[p.Router], &p); b != nil {
			return t.sendOn(&p, egress, b, func(*Packet, *Backend) Step { return egress })
		}
	}
	r := Result{Egress: egress, Ingress: t.arrive(&p, p.Outport)}
	r.Allowed = r.Egress.Verdict.Allows() && r.Ingress.Verdict.Allows()
	return r
}

// afterLB runs the stage after load balancing, unless the one before it has dropped the packet.
func (t *Tracer) afterLB(p *Packet, before Step) Step {
	if !before.Verdict.Allows() {
		return before
	}
	if after := t.stage(stageFromAfterLB, p.Inport, newView(p, p.Inport, "")); after.Verdict != Default {
		return after
	}
	return before
}

// arrive runs the stage of the switch from which a packet leaves.
func (t *Tracer) arrive(p *Packet, outport string) Step {
	if outport == "" {
		return Step{Verdict: Skipped}
	}
	v := newView(p, "", outport)
	if t.switchOf[p.Inport] == t.switchOf[outport] {
		v.inport = p.Inport // otherwise a router port of the other switch
	}
	return t.stage(stageTo, outport, v)
}

// viaSwitch evaluates a packet that the switch of its input port load-balances: ACLs see the backend from then on.
func (t *Tracer) viaSwitch(p *Packet, before Step, b *Balanced, v *vip) Result {
	return t.sendOn(p, before, b, func(to *Packet, at *Backend) Step {
		if at.Hairpin = at.Addr.Addr() == to.Src; at.Hairpin {
			to.Src, to.loopback = v.of.returns(p.Dst), true
			return before
		}
		return t.afterLB(to, before)
	})
}

// returns is the source of a packet to a VIP that comes back to its sender.
func (b *balancer) returns(vip netip.Addr) netip.Addr {
	for _, a := range b.hairpin {
		if a.Is4() == vip.Is4() {
			return a
		}
	}
	return vip
}

// sendOn evaluates a packet for each backend that it may be sent to. Leave returns the result of from-lport for it, and
// may change its source.
func (t *Tracer) sendOn(p *Packet, before Step, b *Balanced, leave func(to *Packet, at *Backend) Step) Result {
	r := Result{Balanced: b, Egress: before, Allowed: b.Outcome == SentOn}
	for i := range b.Backends {
		at := &b.Backends[i]
		at.Port = t.portAt(p, at.Addr.Addr())
		to := *p
		to.Dst, to.DstPort = at.Addr.Addr(), at.Addr.Port()
		at.Egress = leave(&to, at)
		at.Ingress = t.arrive(&to, at.Port)
		at.Allowed = at.Egress.Verdict.Allows() && at.Ingress.Verdict.Allows()
		if i == 0 || r.Allowed && !at.Allowed {
			r.Egress, r.Ingress = at.Egress, at.Ingress
		}
		r.Allowed = r.Allowed && at.Allowed
	}
	return r
}

// portAt returns the port of a backend.
func (t *Tracer) portAt(p *Packet, a netip.Addr) string {
	if p.PortOf != nil {
		return p.PortOf(a)
	}
	return t.portOf[a]
}

// stage runs one stage at one port: tier by tier, the first rule that matches decides, unless it passes to the next
// tier.
func (t *Tracer) stage(stage int, port string, v *view) Step {
	sw, ok := t.switchOf[port]
	if !ok {
		return Step{}
	}
	if t.stateful[sw] && v.unblocked() {
		return Step{Verdict: Allow}
	}
	rules := merged{t.byPort[stage][port], t.bySwitch[stage][sw]}
	passed := -1 // the last tier that was left by a pass
	for r := rules.next(); r != nil; r = rules.next() {
		if r.acl.Tier <= passed || !r.match(v) {
			continue
		}
		step := Step{Verdict: verdict(r.acl.Action), ACL: &r.acl, Priority: r.acl.Priority}
		for rules.levelWith(r) {
			tie := rules.next()
			if !tie.match(v) || verdict(tie.acl.Action) == step.Verdict {
				continue
			}
			step.Ambiguous = true
			if severity(tie.acl.Action) > severity(step.ACL.Action) {
				step.Verdict, step.ACL = verdict(tie.acl.Action), &tie.acl
			}
		}
		if step.ACL.Action != "pass" {
			return step
		}
		passed = r.acl.Tier
	}
	return Step{Verdict: Default}
}

// verdict is the verdict of an action. Pass has none.
func verdict(action string) Verdict {
	switch action {
	case "drop":
		return Drop
	case "reject":
		return Reject
	case "pass":
		return Default
	default:
		return Allow
	}
}

// severity ranks actions: of two that OVN may choose between, the denying one is reported.
func severity(action string) int {
	switch action {
	case "drop":
		return 3
	case "reject":
		return 2
	case "pass":
		return 1
	default:
		return 0
	}
}

// merged yields two sorted lists as one.
type merged struct{ a, b []*rule }

// first is the list whose rule is next; nil is the end.
func (m *merged) first() *[]*rule {
	switch {
	case len(m.a) == 0 && len(m.b) == 0:
		return nil
	case len(m.b) == 0 || (len(m.a) > 0 && compareRules(m.a[0], m.b[0]) <= 0):
		return &m.a
	default:
		return &m.b
	}
}

// next takes the next rule; nil is the end.
func (m *merged) next() *rule {
	list := m.first()
	if list == nil {
		return nil
	}
	r := (*list)[0]
	*list = (*list)[1:]
	return r
}

// levelWith reports whether the next rule has the tier and priority of r.
func (m *merged) levelWith(r *rule) bool {
	list := m.first()
	return list != nil && (*list)[0].acl.Tier == r.acl.Tier && (*list)[0].acl.Priority == r.acl.Priority
}
