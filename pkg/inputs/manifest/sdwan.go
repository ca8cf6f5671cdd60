package manifest

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
)

// oldGroupVersion is the one in some manifests of the design document.
var oldGroupVersion = schema.GroupVersion{Group: "sdewan.akraino.org", Version: v1alpha1.Version}

// isSDWANGroup reports whether a group is one of SD-WAN resources only.
func isSDWANGroup(group string) bool {
	return group == v1alpha1.Group || group == oldGroupVersion.Group
}

// toNewerGroup turns an object of the older group into one of the newer: connections of IPsec had other names for two fields.
// What it cannot read is left to the decoder to report.
func toNewerGroup(kind string, raw json.RawMessage) json.RawMessage {
	if kind != "IpsecSite" && kind != "IpsecHost" {
		return raw
	}
	return inField(raw, "spec", func(spec json.RawMessage) json.RawMessage {
		return inField(spec, "connections", func(list json.RawMessage) json.RawMessage {
			var all []json.RawMessage
			if json.Unmarshal(list, &all) != nil {
				return list
			}
			for i := range all {
				all[i] = renamed(renamed(all[i], "connection_name", "name"), "type", "conn_type")
			}
			return encoded(all, list)
		})
	})
}

// inField applies change to one field of a mapping.
func inField(raw json.RawMessage, name string, change func(json.RawMessage) json.RawMessage) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m[name] == nil {
		return raw
	}
	m[name] = change(m[name])
	return encoded(m, raw)
}

// renamed renames a field of a mapping, unless the new name is taken.
func renamed(raw json.RawMessage, from, to string) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m[from] == nil || m[to] != nil {
		return raw
	}
	m[to] = m[from]
	delete(m, from)
	return encoded(m, raw)
}

// encoded returns v in JSON, or was if that fails.
func encoded(v any, was json.RawMessage) json.RawMessage {
	if text, err := json.Marshal(v); err == nil {
		return text
	}
	return was
}
