package compare

import (
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/openwrt"
)

// findLost finds the objects that would be deleted although no intent that had them is known to be deleted. Those that are to
// be kept stay, with what they refer to, unless a wanted object needs their place in the kernel.
func (c *Comparison) findLost(keep map[object.Ref]bool) {
	c.stays = map[section.Key]bool{}
	taken := map[string]bool{}
	if len(keep) > 0 {
		for k, w := range c.Want.Objects {
			for _, p := range section.Places(k.Kind, w.Object) {
				taken[p] = true
			}
		}
	}
	for _, k := range section.Sorted(c.Have.Objects) {
		if !c.unwanted(k) || c.Want.Present[k] || c.Want.Gone[k] != "" {
			continue
		}
		replaced := slices.ContainsFunc(section.Places(k.Kind, c.Have.Objects[k].Object), func(p string) bool { return taken[p] })
		if !keep[k.Ref()] || replaced {
			c.lost = append(c.lost, k.Ref())
			continue
		}
		c.kept = append(c.kept, k.Ref())
		c.stays[k] = true
	}
	c.lost = c.withoutReplaced(c.lost)
	slices.SortFunc(c.lost, object.Ref.Compare)
	slices.SortFunc(c.kept, object.Ref.Compare)
	c.keepReferents()
}

// withoutReplaced leaves out the kinds with at least as many new objects as lost ones: those were edited. Rules of policies are named after
// their content, and an allow rule that an edit removed must not stay.
func (c *Comparison) withoutReplaced(lost []object.Ref) []object.Ref {
	fewer := map[string]int{}
	for _, o := range lost {
		fewer[o.Kind]++
	}
	for k := range c.Want.Objects {
		if c.Have.Objects[k] == nil {
			fewer[k.Kind.String()]--
		}
	}
	return slices.DeleteFunc(lost, func(o object.Ref) bool { return fewer[o.Kind] <= 0 })
}

// keepReferents keeps what retained objects refer to by name, even if its intent is leaving.
func (c *Comparison) keepReferents() {
	keys := section.Sorted(c.Have.Objects)
	slices.Reverse(keys) // referring objects come before those they refer to
	named := map[string]bool{}
	for _, k := range keys {
		if c.unwanted(k) && named[k.Module()+" "+k.Name] {
			c.stays[k] = true
		}
		if c.stays[k] {
			for _, text := range wordsOf(c.Have.Objects[k].Object) {
				named[k.Module()+" "+text] = true
			}
		}
	}
}

// wordsOf returns the texts of an object's fields, except its name.
func wordsOf(o openwrt.Object) []string {
	var out []string
	for field, value := range o {
		switch v := value.(type) {
		case string:
			if field != "name" {
				out = append(out, v)
			}
		case []string:
			out = append(out, v...)
		case []openwrt.Object:
			for _, inner := range v {
				out = append(out, wordsOf(inner)...)
			}
		}
	}
	return out
}

// Describe adds to a plan from read-back what it deletes and what it keeps.
func (c *Comparison) Describe(p *backends.Plan) {
	p.Objects = map[string]int{}
	for k := range c.Have.Objects {
		p.Objects[k.Kind.String()]++
	}
	p.Lost, p.Kept = c.lost, c.kept
}
