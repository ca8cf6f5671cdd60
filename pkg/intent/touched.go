package intent

// Touched is what several changes affect, each once.
type Touched struct {
	Sets          map[SetID]bool // created, dropped or with other members
	Policies      map[PolicyID]bool
	LoadBalancers map[LoadBalancerID]bool
	DeviceIntents map[DeviceIntentID]bool
	CNFs          map[CNFID]bool
	Families      bool // Snapshot.Families differs
	Unknown       bool // Snapshot.Unknown differs
}

// TouchedSince collects what changed after revision r. It returns false if s does not remember that far back, in which
// case anything may have changed: see Since.
func (s *Snapshot) TouchedSince(r Revision) (Touched, bool) {
	t := Touched{
		Sets: map[SetID]bool{}, Policies: map[PolicyID]bool{}, LoadBalancers: map[LoadBalancerID]bool{},
		DeviceIntents: map[DeviceIntentID]bool{}, CNFs: map[CNFID]bool{},
	}
	changes, ok := s.Since(r)
	for i := range changes {
		c := &changes[i]
		for j := range c.Members {
			t.Sets[c.Members[j].ID] = true
		}
		add(t.Sets, c.Sets)
		add(t.Policies, c.Policies)
		add(t.LoadBalancers, c.LoadBalancers)
		add(t.DeviceIntents, c.DeviceIntents)
		add(t.CNFs, c.CNFs)
		t.Families = t.Families || c.Families
		t.Unknown = t.Unknown || c.Unknown
	}
	return t, ok
}

func add[K comparable](to map[K]bool, ids []K) {
	for _, id := range ids {
		to[id] = true
	}
}
