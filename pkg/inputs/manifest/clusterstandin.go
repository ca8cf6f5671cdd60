package manifest

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/netloom/netloom/pkg/object"
)

// clusterEffect is what the stand-in of a cluster-wide policy does.
const clusterEffect = "until it is fixed, it accepts nothing, and deny and pass rules that cannot be read deny"

// clusterOutline reads what can be read of a faulty cluster-wide policy.
type clusterOutline struct{ row *kind }

// newClusterStandIn makes the stand-in of a faulty cluster-wide policy: its deny and pass rules. A part that cannot be read is left out,
// which the translator interprets as broadly as the types of the API require: a rule without peers matches any traffic, a policy without a
// subject every pod, and one without a tier is in the first.
func newClusterStandIn(row *kind, ref object.Ref, raw json.RawMessage, rejected string) *standIn {
	o := clusterOutline{row: row}
	spec := map[string]any{"ingress": denyAll(), "egress": denyAll()}
	if written, ok := o.spec(raw); ok && rejected == "" {
		spec = o.readable(written)
	}
	made := row.New()
	if text, err := json.Marshal(map[string]any{"spec": spec}); err == nil {
		_ = loose(text, made, "") // what does not fit has been left out
	}
	made.SetName(ref.Name)
	return &standIn{policy: made, effect: clusterEffect}
}

// spec returns the fields of the specification; false if there is none, or if it is unclear which of two is meant.
func (o clusterOutline) spec(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	for _, m := range decode(raw, o.row.New(), "") {
		if strings.HasPrefix(m.message, duplicateField) {
			return nil, false
		}
	}
	var outline struct {
		Spec map[string]json.RawMessage `json:"spec"`
	}
	err := json.Unmarshal(raw, &outline)
	return outline.Spec, err == nil && outline.Spec != nil
}

// readable returns the fields of a specification that can be read. If there are others, each may be a direction that is
// misspelt.
func (o clusterOutline) readable(spec map[string]json.RawMessage) map[string]any {
	out, misspelt := map[string]any{}, false
	for name, value := range spec {
		switch name {
		case "ingress", "egress":
			out[name] = o.rules(name, value)
		default:
			if o.fits(name, value) {
				out[name] = value
			}
			misspelt = misspelt || !o.knows(name)
		}
	}
	for _, name := range []string{"ingress", "egress"} {
		if _, given := spec[name]; misspelt && !given {
			out[name] = denyAll()
		}
	}
	return out
}

// rules returns the rules of a direction that deny or pass.
func (o clusterOutline) rules(direction string, list json.RawMessage) []any {
	var written []json.RawMessage
	if json.Unmarshal(list, &written) != nil {
		return denyAll()
	}
	var out []any
	for _, rule := range written {
		var does struct {
			Action string `json:"action"`
		}
		_ = json.Unmarshal(rule, &does) // an action that cannot be read is unknown
		switch does.Action {
		case "Accept", "Allow":
			continue
		case "Deny", "Pass":
		default:
			does.Action = "Deny"
		}
		if o.fits(direction, mustJSON([]json.RawMessage{rule})) {
			out = append(out, rule)
		} else {
			out = append(out, map[string]any{"action": does.Action})
		}
	}
	return out
}

// denyAll returns rules that stand for those that cannot be read.
func denyAll() []any { return []any{map[string]any{"action": "Deny"}} }

// knows reports whether a specification has a field.
func (o clusterOutline) knows(name string) bool {
	text := mustJSON(map[string]any{"spec": map[string]any{name: nil}})
	return len(decode(text, o.row.New(), "")) == 0
}

// fits reports whether a field of the specification has a value that is valid in an otherwise valid policy.
func (o clusterOutline) fits(name string, value json.RawMessage) bool {
	if len(decode(mustJSON(map[string]any{"spec": map[string]any{name: value}}), o.row.New(), "")) > 0 {
		return false
	}
	spec := map[string]any{"tier": "Admin", "priority": 0, "subject": map[string]any{"namespaces": map[string]any{}}}
	spec[name] = value
	for _, err := range o.row.schema(mustJSON(map[string]any{"metadata": map[string]any{"name": "default"}, "spec": spec})) {
		at := field.NewPath("spec", name).String()
		if err.Field == at || strings.HasPrefix(err.Field, at+".") || strings.HasPrefix(err.Field, at+"[") {
			return false
		}
	}
	return true
}

// mustJSON encodes a value that came from JSON.
func mustJSON(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic("manifest: a value that was decoded cannot be encoded: " + err.Error())
	}
	return text
}
