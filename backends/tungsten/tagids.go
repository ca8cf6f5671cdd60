package tungsten

import (
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/tungsten"
)

// limitsOf returns the limits of a controller that has some objects.
func (b *Backend) limitsOf(have map[string]*tungsten.Object) limits {
	return limits{full: maps.Clone(b.full), exists: have}
}

// recallLimits reads what noteLimits wrote before a restart.
func (b *Backend) recallLimits(have map[string]*tungsten.Object) {
	set := have[b.names.uuid(tungsten.KindApplicationPolicySet, b.names.setName(intent.Ingress))]
	if set == nil {
		return
	}
	for _, kind := range strings.Fields(set.Annotations.Get(annotationFull)) {
		b.full[kind] = true
	}
}

// settleLimits forgets the types of which nothing is lacking. If probe is set, it adds an op that tries one tag of each other type.
func (b *Backend) settleLimits(r *rendering, c *comparison, probe bool) error {
	tried := map[string]bool{}
	for _, tag := range slices.Sorted(maps.Keys(r.lacking)) {
		if kind := typeOf(tag); !tried[kind] {
			tried[kind] = true
			if !probe {
				continue
			}
			op, err := createOf(createTag, r.lacking[tag])
			if err != nil {
				return err
			}
			op.op.Again, op.op.Native = true, write{create: r.lacking[tag], probe: true}
			c.ops = append(c.ops, op)
		}
	}
	maps.DeleteFunc(b.full, func(kind string, _ bool) bool { return !tried[kind] })
	return nil
}

// freed records that a tag was created or deleted although no ID had been left for its type: everything is planned again.
func (b *Backend) freed(tag string) {
	if kind := typeOf(tag); b.full[kind] {
		delete(b.full, kind)
		b.doubt = true
		b.wakeUp()
	}
}
