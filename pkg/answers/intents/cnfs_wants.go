package intents

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/netloom/netloom/pkg/intent"
)

// wants formats what is set in a device intent, by the names of its fields.
func wants(spec intent.DeviceSpec) map[string]string {
	out := map[string]string{}
	formatFields(out, reflect.Indirect(reflect.ValueOf(spec)))
	return out
}

// formatFields formats the non-zero fields of a struct. Those of embedded structs are on the same level.
func formatFields(out map[string]string, of reflect.Value) {
	for i := range of.NumField() {
		field, value := of.Type().Field(i), of.Field(i)
		if !field.IsExported() || value.IsZero() {
			continue
		}
		text, ok := formatValue(value.Interface())
		switch {
		case ok:
			out[lowerFirst(field.Name)] = text
		case value.Kind() == reflect.Struct:
			formatFields(out, value)
		case value.Kind() == reflect.Slice:
			out[lowerFirst(field.Name)] = formatList(value)
		default:
			out[lowerFirst(field.Name)] = fmt.Sprint(value.Interface())
		}
	}
}

// formatList formats the elements of a list, in parentheses if they have several fields.
func formatList(list reflect.Value) string {
	parts := make([]string, 0, list.Len())
	for i := range list.Len() {
		value := list.Index(i)
		if text, ok := formatValue(value.Interface()); ok {
			parts = append(parts, text)
			continue
		}
		if value.Kind() != reflect.Struct {
			parts = append(parts, fmt.Sprint(value.Interface()))
			continue
		}
		fields := map[string]string{}
		formatFields(fields, value)
		parts = append(parts, "("+FieldsText(fields)+")")
	}
	return strings.Join(parts, ", ")
}

// FieldsText formats fields on one line, sorted by name.
func FieldsText(fields map[string]string) string {
	parts := make([]string, 0, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		parts = append(parts, name+"="+fields[name])
	}
	return strings.Join(parts, " ")
}

// formatValue formats a value of a type with a format of its own.
func formatValue(v any) (text string, ok bool) {
	switch v := v.(type) {
	case netip.Prefix:
		return v.String(), true
	case netip.Addr:
		return v.String(), true
	case intent.PrefixMatch:
		if v.Not {
			return "!" + v.Prefix.String(), true
		}
		return v.Prefix.String(), true
	case intent.Link:
		return linkText(v), true
	case intent.DeviceRef:
		if v.ID != "" {
			return string(v.ID), true
		}
		return v.Name, true
	case intent.SecretValue:
		if v.From != (intent.SecretRef{}) {
			return "Secret " + v.From.Namespace + "/" + v.From.Name + ", key " + v.From.Key, true
		}
		return v.Value.String(), true
	case intent.Toggle:
		return word(v, "", "off", "on"), true
	case intent.Disposition:
		return word(v, "", "accept", "reject", "drop", "mark", "notrack"), true
	case intent.NATKind:
		return word(v, "", "source", "destination", "masquerade"), true
	case intent.Authentication:
		return word(v, "", "pre-shared key", "public key"), true
	case intent.Families:
		return map[intent.Families]string{intent.IPv4: "ipv4", intent.IPv6: "ipv6"}[v], true
	case fmt.Stringer:
		return v.String(), true
	default:
		return "", false
	}
}

// word returns the word for a value of a type; words are in the order of its values.
func word[T ~uint8](v T, words ...string) string {
	if int(v) < len(words) {
		return words[v]
	}
	return fmt.Sprint(uint8(v))
}

func linkText(l intent.Link) string {
	switch {
	case l.Default:
		return "the default route's"
	case l.Source:
		return "the new source's"
	case l.Addr.IsValid():
		return "that of " + l.Addr.String()
	default:
		return l.Name
	}
}

// lowerFirst is the name of a field in JSON: ICMPTypes is icmpTypes.
func lowerFirst(name string) string {
	n := 0
	for n < len(name) && unicode.IsUpper(rune(name[n])) {
		n++
	}
	if n > 1 && n < len(name) {
		n-- // the last one begins the next word
	}
	return strings.ToLower(name[:n]) + name[n:]
}
