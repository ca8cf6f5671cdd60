package pipeline

import (
	"slices"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// AreaOf returns the area of a snapshot that is unknown without the objects of a kind. Only kinds that may be unavailable
// have one.
func AreaOf(kind string) intent.Areas {
	switch {
	case kind == object.KindService, kind == object.KindServiceImport, kind == object.KindEndpointSlice:
		return intent.AreaBalancers
	case source.IsSDWAN(kind):
		return intent.AreaDevices
	default:
		return 0
	}
}

// UnknownAreas returns the areas that are unknown without the objects of some kinds.
func UnknownAreas(kinds []string) intent.Areas {
	var areas intent.Areas
	for _, kind := range kinds {
		areas |= AreaOf(kind)
	}
	return areas
}

// Unavailable lists the kinds missing from the newest snapshot because they cannot be read, sorted.
func (p *Pipeline) Unavailable() []string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Clone(p.unavailable)
}
