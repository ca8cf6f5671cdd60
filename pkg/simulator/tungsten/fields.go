package tungsten

import (
	"maps"
	"slices"
)

// Fields lists the fields of a kind that a request may contain, sorted: properties, those of structures as "action_list.log", and
// references. It returns nil for an unknown kind.
func Fields(kindName string) []string {
	k := kinds()[kindName]
	if k == nil {
		return nil
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(k.props)) {
		p := k.props[name]
		if p.class == nil || p.wrapper != "" || len(p.class.fields) == 0 {
			out = append(out, name)
			continue
		}
		for _, field := range slices.Sorted(maps.Keys(p.class.fields)) {
			out = append(out, name+"."+field)
		}
	}
	for _, to := range slices.Sorted(maps.Keys(k.refs)) {
		out = append(out, refField(to))
	}
	slices.Sort(out)
	return out
}
