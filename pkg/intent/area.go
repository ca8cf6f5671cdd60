package intent

// Areas is a set of things that a snapshot contains.
type Areas uint8

// The areas. Each can be unavailable although the others are available, because a permission or a CRD is missing.
const (
	// AreaBalancers is load balancers.
	AreaBalancers Areas = 1 << iota
	// AreaDevices is device intents.
	AreaDevices
)

// Has reports whether every area of g is in a.
func (a Areas) Has(g Areas) bool { return a&g == g }

// Unknown lists the areas that are unavailable, because their sources could not be read. A backend leaves what it wrote for such an area as
// it is, although the snapshot contains nothing of it.
func (s *Snapshot) Unknown() Areas { return s.unknown }

// SetUnknown sets the areas that are unavailable from now on.
func (b *Builder) SetUnknown(a Areas) {
	b.unknown = a
	b.change.Unknown = a != b.from.unknown
}
