package nbtrace

// Trace judges one packet. A packet from an address to itself never reaches a switch and is allowed.
func (t *Tracer) Trace(p Packet) Result {
	skip := Step{Verdict: Skipped}
	if !p.ARP && p.Src.IsValid() && p.Src == p.Dst {
		return Result{Allowed: true, Egress: skip, Ingress: skip}
	}
	r := Result{Egress: skip, Ingress: skip}
	if p.Inport != "" {
		// The output port is not known yet, so that no match can name it.
		v := newView(&p, p.Inport, "")
		r.Egress = t.stage(stageFrom, p.Inport, v)
		if r.Egress.Verdict.Allows() {
			if after := t.stage(stageFromAfterLB, p.Inport, v); after.Verdict != Default {
				r.Egress = after
			}
		}
	}
	if p.Outport != "" {
		v := newView(&p, "", p.Outport)
		if t.switchOf[p.Inport] == t.switchOf[p.Outport] {
			v.inport = p.Inport // otherwise a router port of the other switch
		}
		r.Ingress = t.stage(stageTo, p.Outport, v)
	}
	r.Allowed = r.Egress.Verdict.Allows() && r.Ingress.Verdict.Allows()
	return r
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

// verdict is what an action means. Pass has no verdict of its own.
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

// severity ranks actions: of two that OVN may choose between, the one that denies is reported.
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

// levelWith says whether the next rule has the tier and priority of r.
func (m *merged) levelWith(r *rule) bool {
	list := m.first()
	return list != nil && (*list)[0].acl.Tier == r.acl.Tier && (*list)[0].acl.Priority == r.acl.Priority
}
