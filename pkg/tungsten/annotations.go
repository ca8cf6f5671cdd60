package tungsten

import (
	"maps"
	"slices"
)

// NewAnnotations makes annotations of a map; nil for an empty one.
func NewAnnotations(of map[string]string) *Annotations {
	if len(of) == 0 {
		return nil
	}
	a := &Annotations{KeyValuePair: make([]KeyValue, 0, len(of))}
	for _, k := range slices.Sorted(maps.Keys(of)) {
		a.KeyValuePair = append(a.KeyValuePair, KeyValue{Key: k, Value: of[k]})
	}
	return a
}

// Get is the value of a key, "" if it is absent. A nil a has no keys.
func (a *Annotations) Get(key string) string {
	if a == nil {
		return ""
	}
	for _, kv := range a.KeyValuePair {
		if kv.Key == key {
			return kv.Value
		}
	}
	return ""
}

// Map is a as a map.
func (a *Annotations) Map() map[string]string {
	if a == nil {
		return nil
	}
	out := make(map[string]string, len(a.KeyValuePair))
	for _, kv := range a.KeyValuePair {
		out[kv.Key] = kv.Value
	}
	return out
}
