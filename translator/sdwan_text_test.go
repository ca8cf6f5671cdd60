package translator_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
)

// cnfText formats a CNF.
func cnfText(g *intent.CNF) string {
	var networks []string
	for _, n := range slices.Sorted(maps.Keys(g.Networks)) {
		networks = append(networks, n+"="+g.Networks[n])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "CNF %s of %s: %s at %s on %s", g.ID, g.Scope, g.Group, g.Addr, g.Node)
	for _, f := range []struct {
		is   bool
		word string
	}{{g.Ready, "ready"}, {g.Leaving, "leaving"}, {g.Writable(), "writable"}} {
		if f.is {
			b.WriteString(", " + f.word)
		}
	}
	fmt.Fprintf(&b, "\n  run %q, account %q, certificate %q\n  networks %s\n", g.Run, g.Account, g.Certificate, strings.Join(networks, " "))
	if g.Conflict != "" {
		fmt.Fprintf(&b, "  conflict %s\n", g.Conflict)
	}
	return b.String()
}

// deviceText formats a device intent, with the fields of its spec that are set.
func deviceText(e *intent.DeviceIntent) string {
	var b strings.Builder
	fmt.Fprintf(&b, "device %s: %s", e.ID, e.Spec.DeviceKind())
	if e.Gone {
		b.WriteString(", gone")
	}
	if e.Unknown {
		b.WriteString(", unknown")
	}
	if e.Adopts != "" {
		fmt.Fprintf(&b, ", adopts %s", e.Adopts)
	}
	if e.Generation != 0 {
		fmt.Fprintf(&b, ", generation %d", e.Generation)
	}
	b.WriteString("\n")
	for _, n := range e.Needs {
		fmt.Fprintf(&b, "  needs %s\n", n)
	}
	fmt.Fprintf(&b, "  %s\n", said(reflect.ValueOf(e.Spec).Elem()))
	return b.String()
}

// said formats a value with the fields that are not zero.
func said(v reflect.Value) string {
	if s, ok := v.Interface().(intent.Secret); ok {
		return "secret(" + string(s) + ")"
	}
	if s, ok := v.Interface().(fmt.Stringer); ok {
		return s.String()
	}
	var parts []string
	if v.Kind() == reflect.Struct {
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				parts = append(parts, v.Type().Field(i).Name+":"+said(v.Field(i)))
			}
		}
		return "{" + strings.Join(parts, " ") + "}"
	}
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			parts = append(parts, said(v.Index(i)))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v.Interface())
}
