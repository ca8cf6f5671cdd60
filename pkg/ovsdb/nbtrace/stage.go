package nbtrace

// stage runs one stage at one port: tier by tier, the first rule that matches decides, unless it passes to the next
// tier.
func (t *Tracer) stage(stage int, port string, v *view) Step {
	sw, ok := t.switchOf[port]
	if !ok {
		return Step{}
	}
	if v.tracked = t.stateful[sw]; v.tracked && v.unblocked() {
		return Step{Verdict: Allow}
	}
	rules := merged{t.byPort[stage][port], t.bySwitch[stage][sw]}
	ruled := len(rules.a)+len(rules.b) > 0
	passed := -1     // the last tier that was left by a pass
	var open []*rule // that may match
	for r := rules.next(); r != nil; r = rules.next() {
		if r.acl.Tier <= passed {
			continue
		}
		switch r.match(v) {
		case no:
			continue
		case maybe:
			open = append(open, r)
			continue
		case yes:
		}
		step := Step{Verdict: verdict(r.acl.Action), ACL: &r.acl, Priority: r.acl.Priority}
		for rules.levelWith(r) {
			tie := rules.next()
			switch matched := tie.match(v); {
			case matched == no || verdict(tie.acl.Action) == step.Verdict:
				continue
			case matched == maybe:
				open = append(open, tie)
				continue
			}
			step.Ambiguous = true
			if severity(tie.acl.Action) > severity(step.ACL.Action) {
				step.Verdict, step.ACL = verdict(tie.acl.Action), &tie.acl
			}
		}
		if step.ACL.Action != "pass" {
			if t.stateless[stage][sw] {
				open = append(open, rules.stateless(v)...)
			}
			return settled(step, open)
		}
		passed = r.acl.Tier
	}
	step := Step{Verdict: Default}
	if t.drops {
		step.Verdict = Drop
		if !ruled {
			step.Verdict = Unknown // whether this applies to a switch without ACLs depends on the version
		}
	}
	return settled(step, open)
}

// settled is step, or an unknown one if one of the rules that may match would change it.
func settled(step Step, open []*rule) Step {
	for _, r := range open {
		if r.acl.Action == "pass" {
			if step.ACL == nil || step.ACL.Tier != r.acl.Tier {
				continue // it continues with a later tier, as without the rule
			}
		} else if verdict(r.acl.Action).Allows() == step.Verdict.Allows() {
			continue
		}
		return Step{Verdict: Unknown, ACL: &r.acl, Priority: r.acl.Priority}
	}
	return step
}

// stateless lists the rules left that may let v pass without tracking it: versions of OVN differ in whether they take
// precedence over rules of a higher priority.
func (m *merged) stateless(v *view) []*rule {
	var out []*rule
	for r := m.next(); r != nil; r = m.next() {
		if r.acl.Action == "allow-stateless" && r.match(v) != no {
			out = append(out, r)
		}
	}
	return out
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
