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
	if egress.Verdict.Allows() && p.Inport != "" {
		egress = stricter(egress, t.depart(&p))
	}
	r := Result{Egress: egress, Ingress: t.arrive(&p, p.Outport)}
	if r.Ingress.Verdict.Allows() && p.Outport != "" {
		r.Ingress = stricter(r.Ingress, t.enter(&p))
	}
	r.Allowed = r.Egress.Verdict.Allows() && r.Ingress.Verdict.Allows()
	return r
}

// stricter is the second of two steps if it denies, or if only it has an ACL; otherwise the first.
func stricter(first, second Step) Step {
	if !second.Verdict.Allows() || first.ACL == nil && second.ACL != nil {
		return second
	}
	return first
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

// depart runs the stage to-lport of the switch that a packet leaves for a router or the outside: ACLs that do not name the
// output port apply there too.
func (t *Tracer) depart(p *Packet) Step {
	sw, ok := t.switchOf[p.Inport]
	if !ok || p.Outport != "" && t.switchOf[p.Outport] == sw {
		return Step{Verdict: Skipped}
	}
	return t.across(sw, func(uplink string) Step { return t.stage(stageTo, uplink, newView(p, p.Inport, uplink)) })
}

// enter runs the stages from-lport of the switch to which a packet comes from a router or the outside.
func (t *Tracer) enter(p *Packet) Step {
	sw, ok := t.switchOf[p.Outport]
	if !ok || p.Inport != "" && t.switchOf[p.Inport] == sw {
		return Step{Verdict: Skipped}
	}
	return t.across(sw, func(uplink string) Step {
		v := newView(p, uplink, "")
		before := t.stage(stageFrom, uplink, v)
		if !before.Verdict.Allows() {
			return before
		}
		return stricter(before, t.stage(stageFromAfterLB, uplink, v))
	})
}

// across evaluates a packet at each uplink of a switch. It is not known through which the packet goes.
func (t *Tracer) across(sw string, evaluate func(uplink string) Step) Step {
	result := Step{Verdict: Skipped}
	for i, uplink := range t.uplinks[sw] {
		step := evaluate(uplink)
		switch {
		case i == 0:
			result = step
		case step.Verdict.Allows() != result.Verdict.Allows():
			return Step{Verdict: Unknown, ACL: step.ACL, Priority: step.Priority}
		}
	}
	return result
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
