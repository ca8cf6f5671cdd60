package intent

// Areas is a set of things that a snapshot speaks of.
type Areas uint8

// The areas. Each can be unknown although the others are known: a permission is missing, or a CRD.
const (
	// AreaBalancers is load balancers.
	AreaBalancers Areas = 1 << iota
	// AreaDevices is device intents.
	AreaDevices
)

// Has reports whether every area of g is in a.
func (a Areas) Has(g Areas) bool { return a&g == g }

// Unknown lists the areas of which the snapshot knows nothing: their sources could not be read. A backend leaves what it
// wrote for such an area as it is; that the snapshot holds none of it means nothing.
func (s *Snapshot) Unknown() Areas { return s.unknown }

// SetUnknown says of which areas nothing is known from now on.
func (b *Builder) SetUnknown(a Areas) {
	b.unknown = a
	b.change.Unknown = a != b.from.unknown
}
