package nbtrace

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Expr is a parsed match. Its names of groups and sets are not resolved; see Tracer.
type Expr struct{ root node }

// String formats e in a canonical form that parses to the same expression.
func (e *Expr) String() string { return e.root.format(false) }

// node is a part of an expression. Negations are pushed down to the comparisons while parsing, so none is left.
type node interface {
	// format writes the node; nested asks for parentheses where they are needed inside another node.
	format(nested bool) string
}

type (
	// boolean is 1 or 0.
	boolean bool
	// predicate is a word that is true or false, such as tcp.
	predicate struct{ field *field }
	// comparison relates a field to constants: == to any of them, != to none of them, the others to the only one.
	comparison struct {
		field  *field
		op     string
		values []value
	}
	// bits relates some bits of a field to constants, like comparison.
	bits struct {
		field  *field
		first  int // the lowest bit, counted from 0
		last   int
		op     string
		values []value
	}
	// unclear is a part that OVN may accept and this package cannot evaluate.
	unclear struct{ text string }
	// all is &&, anyOf is ||; both have at least two parts.
	all   []node
	anyOf []node
)

// value is a constant: exactly the member that fits the comparison's field is set.
type value struct {
	number uint64
	mask   uint64 // of number: the bits that count
	prefix netip.Prefix
	text   string
	set    string // name of an address set
	group  string // name of a port group
	kind   valueKind
}

// wholeNumber is the mask of a number without one.
const wholeNumber = ^uint64(0)

type valueKind uint8

const (
	valueNumber valueKind = iota
	valuePrefix
	valueText
	valueSet
	valueGroup
)

func (v value) String() string {
	switch v.kind {
	case valueNumber:
		if v.mask != wholeNumber {
			return strconv.FormatUint(v.number, 10) + "/" + strconv.FormatUint(v.mask, 10)
		}
		return strconv.FormatUint(v.number, 10)
	case valuePrefix:
		if v.prefix.IsSingleIP() {
			return v.prefix.Addr().String()
		}
		return v.prefix.String()
	case valueText:
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v.text) + `"`
	case valueSet:
		return "$" + v.set
	case valueGroup:
		return "@" + v.group
	default:
		return "?"
	}
}

func (b boolean) format(bool) string {
	if b {
		return "1"
	}
	return "0"
}

func (p predicate) format(bool) string { return p.field.name }

func (c *comparison) format(bool) string { return formatComparison(c.field.name, c.op, c.values) }

func (b *bits) format(bool) string {
	name := fmt.Sprintf("%s[%d..%d]", b.field.name, b.first, b.last)
	if b.first == b.last {
		name = fmt.Sprintf("%s[%d]", b.field.name, b.first)
	}
	return formatComparison(name, b.op, b.values)
}

func (u unclear) format(bool) string { return u.text }

func formatComparison(name, op string, values []value) string {
	if len(values) == 1 {
		return fmt.Sprintf("%s %s %s", name, op, values[0])
	}
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = v.String()
	}
	return fmt.Sprintf("%s %s {%s}", name, op, strings.Join(words, ", "))
}

func (a all) format(nested bool) string   { return join(a, " && ", nested) }
func (a anyOf) format(nested bool) string { return join(a, " || ", nested) }

func join(parts []node, with string, nested bool) string {
	words := make([]string, len(parts))
	for i, p := range parts {
		words[i] = p.format(true)
	}
	s := strings.Join(words, with)
	if nested {
		return "(" + s + ")"
	}
	return s
}

// opposite is the operator that is true when op is false.
func opposite(op string) string {
	switch op {
	case "==":
		return "!="
	case "!=":
		return "=="
	case "<":
		return ">="
	case "<=":
		return ">"
	case ">":
		return "<="
	default:
		return "<"
	}
}

// mirrored is the operator with its two operands exchanged.
func mirrored(op string) string {
	switch op {
	case "<":
		return ">"
	case "<=":
		return ">="
	case ">":
		return "<"
	case ">=":
		return "<="
	default:
		return op
	}
}
