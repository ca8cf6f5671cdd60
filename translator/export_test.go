package translator

// Empty says whether t holds nothing of any object. What DNS said may stand.
func Empty(t *Translator) bool {
	e, g, s := &t.edges, &t.gateways, t.services
	return len(t.sources)+len(t.translated)+len(t.dirty)+len(t.unsettled)+len(t.gated)+len(t.watchers)+len(t.problems)+len(t.sets.held) == 0 &&
		len(e.lookers)+len(e.hosts.wanted)+len(e.claims) == 0 &&
		len(g.byKey)+len(g.scopes)+len(g.dirty)+len(g.removed) == 0 &&
		len(s.byKey)+len(s.slices)+len(s.claims)+len(s.dirty)+len(s.onNodes) == 0
}

// Answers counts the DNS names of which t remembers addresses.
func Answers(t *Translator) int { return len(t.edges.hosts.answers) }
