package section

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/openwrt"
)

// Fields formats an object for a plan: without its name and without secrets.
func Fields(o openwrt.Object) backends.Fields {
	out := backends.Fields{}
	addFields(out, "", o)
	return out
}

// addFields adds the fields of an object; those of nested objects as list[name].field.
func addFields(out backends.Fields, at string, o openwrt.Object) {
	writeOnly := WriteOnlyFields()
	for field, v := range o {
		name := at + field
		switch v := v.(type) {
		case string:
			if slices.Contains(writeOnly, field) {
				out[name] = "as written " + digits(idDigits, v)
			} else if field != "name" {
				out[name] = v
			}
		case openwrt.Secret:
			out[name] = v.String()
		case openwrt.Digest:
			out[name] = "as shown"
		case bool:
			out[name] = v
		case []string:
			out[name] = strings.Join(v, " ")
		case []openwrt.Object:
			for _, inner := range v {
				id, _ := inner["interface"].(string)
				if inner.Name() != "" {
					id = inner.Name()
				}
				addFields(out, fmt.Sprintf("%s[%s].", name, id), inner)
			}
		}
	}
}

// DigestOf returns a digest of all fields of an object, secrets included.
func DigestOf(o openwrt.Object) string { return digits(sealDigits, flatten(o)...) }

// flatten lists the fields of an object and what is in them, in order.
func flatten(o openwrt.Object) []string {
	var out []string
	for _, field := range slices.Sorted(maps.Keys(o)) {
		out = append(out, field)
		switch v := o[field].(type) {
		case openwrt.Secret:
			out = append(out, "secret", string(v))
		case []string:
			out = append(out, fmt.Sprint(len(v)))
			out = append(out, v...)
		case []openwrt.Object:
			out = append(out, fmt.Sprint(len(v)))
			for _, inner := range v {
				out = append(out, flatten(inner)...)
			}
		default:
			out = append(out, fmt.Sprintf("%T %v", v, v))
		}
	}
	return out
}
