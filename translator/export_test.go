package translator

// Empty reports whether t has nothing of any object left. Answers of DNS may stay.
func Empty(t *Translator) bool {
	return t.dirty.Len()+len(t.problems.All())+t.sets.Len()+t.policies.Len()+t.services.Len()+t.sdwan.Len()+
		t.opaque.len()+t.remotes.len()+len(t.pods.byKey)+len(t.pods.byAddr) == 0
}

// Answers counts the DNS names of which t remembers addresses.
func Answers(t *Translator) int { return t.hosts.Answers() }
