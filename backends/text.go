package backends

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// shownValues is how many values of a long list are printed.
const shownValues = 6

// Write prints p for display: a line for each op, then what it skips, then a count. With color, it is for a terminal.
func (p *Plan) Write(w io.Writer, color bool) error {
	var b strings.Builder
	for i := range p.Ops {
		p.Ops[i].write(&b, color)
	}
	for _, s := range p.Skips {
		fmt.Fprintf(&b, "! %s: %s\n", s.Intent, s.Reason)
	}
	b.WriteString(p.Summary() + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// Summary counts the ops of p by verb and kind.
func (p *Plan) Summary() string {
	if p.Empty() {
		return "nothing to do"
	}
	counts := map[string]int{}
	for i := range p.Ops {
		counts[p.Ops[i].Verb.String()+" "+p.Ops[i].Kind]++
	}
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s ×%d", what, counts[what]))
	}
	return fmt.Sprintf("%s in %s: %s", plural(len(p.Ops), "operation"), plural(p.Groups(), "transaction"),
		strings.Join(parts, ", "))
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Groups counts the transactions of p.
func (p *Plan) Groups() int {
	seen := map[int]bool{}
	for i := range p.Ops {
		seen[p.Ops[i].Group] = true
	}
	return len(seen)
}

func (o *Op) write(b *strings.Builder, color bool) {
	sign, paint := "~", "\x1b[33m"
	switch o.Verb {
	case Create:
		sign, paint = "+", "\x1b[32m"
	case Delete:
		sign, paint = "-", "\x1b[31m"
	case Reload:
		sign, paint = "*", "\x1b[36m"
	case Update, Mutate:
	}
	line := fmt.Sprintf("%s %s %s", sign, o.Kind, o.Name)
	if o.Origin != "" {
		line += "  (" + o.Origin + ")"
	}
	if color {
		line = paint + line + "\x1b[0m"
	}
	b.WriteString(line + "\n")
	for _, column := range o.columns() {
		before, had := o.Before[column]
		after, has := o.After[column]
		switch {
		case o.Verb == Mutate:
			fmt.Fprintf(b, "    %s:%s%s\n", column, signed(" +", after, has), signed(" -", before, had))
		case o.Verb == Update:
			fmt.Fprintf(b, "    %s: %s → %s\n", column, orNone(formatValue(before)), orNone(formatValue(after)))
		case has && formatValue(after) != "":
			fmt.Fprintf(b, "    %s: %s\n", column, formatValue(after))
		}
	}
}

// columns lists the fields worth a line, in order. For a deleted row its name is enough.
func (o *Op) columns() []string {
	if o.Verb == Delete {
		return nil
	}
	names := map[string]bool{}
	for _, f := range []Fields{o.Before, o.After} {
		for k := range f {
			if k != "name" && (k != "external_ids" || o.Verb != Create) {
				names[k] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func signed(sign string, value any, has bool) string {
	if !has {
		return ""
	}
	list, ok := value.([]string)
	if !ok {
		return sign + formatValue(value)
	}
	return sign + strings.Join(shorten(list), sign)
}

// orNone makes an empty value visible.
func orNone(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func formatValue(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []string:
		return strings.Join(shorten(v), " ")
	case map[string]string:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, k+"="+v[k])
		}
		return strings.Join(parts, " ")
	default:
		return fmt.Sprint(v)
	}
}

func shorten(list []string) []string {
	if len(list) <= shownValues {
		return list
	}
	return append(slices.Clone(list[:shownValues]), fmt.Sprintf("…(%d more)", len(list)-shownValues))
}
