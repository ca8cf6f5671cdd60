package nbtrace

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// maxDepth is how deep OVN lets parentheses nest.
const maxDepth = 100

// Parse reads a match. It supports the language of ovn-sb(5) as far as doc.go describes, and refuses what OVN refuses:
// mixed && and || without parentheses, negated nominal fields, constants that do not fit their field. The error is a
// *SyntaxError. It does not check whether the groups and sets exist.
func Parse(match string) (*Expr, error) { return parse(match, vocabulary()) }

func parse(match string, fields map[string]*field) (*Expr, error) {
	tokens, err := lex(match)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens, fields: fields}
	root, err := p.expression()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != tokenEnd {
		return nil, p.unexpected("the end")
	}
	return &Expr{root}, nil
}

type parser struct {
	tokens []token
	pos    int
	depth  int
	not    bool // inside an odd number of negations
	fields map[string]*field
}

func (p *parser) peek() token { return p.tokens[p.pos] }

func (p *parser) take() token {
	t := p.tokens[p.pos]
	if t.kind != tokenEnd {
		p.pos++
	}
	return t
}

// accept consumes the next symbol if it is one of symbols.
func (p *parser) accept(symbols ...string) (string, bool) {
	t := p.peek()
	if t.kind != tokenSymbol || !slices.Contains(symbols, t.text) {
		return "", false
	}
	p.pos++
	return t.text, true
}

func (p *parser) unexpected(want string) error {
	t := p.peek()
	return &SyntaxError{t.at, fmt.Sprintf("syntax error at %s, expecting %s", t, want)}
}

// expression reads operands joined by && or by ||, not both.
func (p *parser) expression() (node, error) {
	first, err := p.operand()
	if err != nil {
		return nil, err
	}
	op, ok := p.accept("&&", "||")
	if !ok {
		return first, nil
	}
	parts := []node{first}
	for ok {
		part, err := p.operand()
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
		_, ok = p.accept(op)
	}
	if t := p.peek(); t.kind == tokenSymbol && (t.text == "&&" || t.text == "||") {
		return nil, &SyntaxError{t.at, "&& and || must be parenthesized when used together"}
	}
	return p.join(op == "&&", parts...), nil
}

// join makes parts one node, with and and or exchanged under a negation.
func (p *parser) join(and bool, parts ...node) node {
	if and != p.not {
		return all(parts)
	}
	return anyOf(parts)
}

// operand reads a primary, or a "!" and a primary.
func (p *parser) operand() (node, error) {
	bang := p.peek()
	if _, ok := p.accept("!"); !ok {
		n, _, err := p.primary()
		return n, err
	}
	p.not = !p.not
	n, atomic, err := p.primary()
	p.not = !p.not
	if err == nil && !atomic {
		return nil, &SyntaxError{bang.at, "missing parentheses around operand of !"}
	}
	return n, err
}

// primary reads a parenthesis, a word, 0 or 1, or a comparison. Only a comparison is not atomic: it needs parentheses
// after a "!".
func (p *parser) primary() (n node, atomic bool, err error) {
	t := p.peek()
	switch {
	case t.kind == tokenSymbol && t.text == "(":
		n, err = p.parenthesis()
		return n, true, err
	case t.kind == tokenName:
		return p.fieldFirst()
	case t.kind == tokenNumber && (t.text == "0" || t.text == "1") && !isRelation(p.tokens[p.pos+1]):
		p.take()
		return boolean((t.text == "1") != p.not), true, nil
	case t.kind == tokenEnd, t.kind == tokenSymbol && t.text != "{":
		return nil, false, p.unexpected("field name, constant or parenthesis")
	default:
		n, err = p.constantFirst()
		return n, false, err
	}
}

func (p *parser) parenthesis() (node, error) {
	open := p.take()
	if p.depth++; p.depth > maxDepth {
		return nil, &SyntaxError{open.at, "parentheses nested too deeply"}
	}
	defer func() { p.depth-- }()
	n, err := p.expression()
	if err != nil {
		return nil, err
	}
	if _, ok := p.accept(")"); !ok {
		return nil, p.unexpected("`)'")
	}
	return n, nil
}

// field reads a field's name.
func (p *parser) field() (*field, token, error) {
	t := p.peek()
	if t.kind != tokenName {
		return nil, t, p.unexpected("field name")
	}
	f := p.fields[t.text]
	if f == nil {
		return nil, t, &SyntaxError{t.at, fmt.Sprintf("unknown field %s", t.text)}
	}
	p.take()
	return f, t, nil
}

// fieldFirst reads a word alone or "field relation constants".
func (p *parser) fieldFirst() (n node, atomic bool, err error) {
	f, at, err := p.field()
	if err != nil {
		return nil, false, err
	}
	if f.typ == fieldPredicate {
		switch {
		case isRelation(p.peek()):
			return nil, false, &SyntaxError{p.peek().at, fmt.Sprintf("%s is a word of its own and not compared", f.name)}
		case p.not:
			return nil, false, &SyntaxError{at.at, "nominal predicate " + f.name + " may not be negated"}
		}
		return predicate{f}, true, nil
	}
	op, ok := p.accept(relations()...)
	if !ok {
		return nil, false, p.unexpected("relational operator behind " + f.name)
	}
	constants, err := p.constants()
	if err != nil {
		return nil, false, err
	}
	n, err = p.compare(f, at, op, constants)
	return n, false, err
}

// constantFirst reads "constants relation field", and "constant < field < constant".
func (p *parser) constantFirst() (node, error) {
	left, err := p.constants()
	if err != nil {
		return nil, err
	}
	op, ok := p.accept(relations()...)
	if !ok {
		return nil, p.unexpected("relational operator")
	}
	f, at, err := p.field()
	if err != nil {
		return nil, err
	}
	if f.typ == fieldPredicate {
		return nil, &SyntaxError{at.at, fmt.Sprintf("%s is a word of its own and not compared", f.name)}
	}
	low, err := p.compare(f, at, mirrored(op), left)
	if err != nil {
		return nil, err
	}
	second := p.peek()
	op2, ok := p.accept(relations()...)
	if !ok {
		return low, nil
	}
	if (op[0] != '<' && op[0] != '>') || op2[0] != op[0] {
		return nil, &SyntaxError{second.at, "range expressions must have the form `x < field < y' or `x > field > y'"}
	}
	right, err := p.constants()
	if err != nil {
		return nil, err
	}
	high, err := p.compare(f, at, op2, right)
	if err != nil {
		return nil, err
	}
	return p.join(true, low, high), nil
}

// constants reads one constant, or several in braces. Commas between them may be left out, as in OVN.
func (p *parser) constants() ([]token, error) {
	constant := func() (token, error) {
		switch p.peek().kind {
		case tokenNumber, tokenString, tokenSet, tokenGroup:
			return p.take(), nil
		case tokenEnd, tokenSymbol, tokenName:
		}
		return token{}, p.unexpected("constant")
	}
	if _, ok := p.accept("{"); !ok {
		t, err := constant()
		return []token{t}, err
	}
	var list []token
	for {
		t, err := constant()
		if err != nil {
			return nil, err
		}
		list = append(list, t)
		p.accept(",")
		if _, ok := p.accept("}"); ok {
			return list, nil
		}
	}
}

// compare makes a comparison, inverted under a negation.
func (p *parser) compare(f *field, at token, op string, constants []token) (node, error) {
	if p.not {
		op = opposite(op)
	}
	if f.exact && op != "==" {
		return nil, &SyntaxError{at.at, fmt.Sprintf("nominal field %s may only be tested for equality (taking enclosing `!' operators into account)", f.name)}
	}
	c := &comparison{field: f, op: op}
	for _, t := range constants {
		v, err := constantFor(f, t)
		if err != nil {
			return nil, err
		}
		c.values = append(c.values, v)
	}
	if op != "==" && op != "!=" {
		v := c.values[0]
		if len(c.values) > 1 || v.kind == valueSet || (v.kind == valuePrefix && !v.prefix.IsSingleIP()) {
			return nil, &SyntaxError{constants[0].at, "only == and != may be used with sets and masked constants"}
		}
	}
	return c, nil
}

// constantFor reads a constant as one of f.
func constantFor(f *field, t token) (value, error) {
	wrong := &SyntaxError{t.at, fmt.Sprintf("%s does not fit field %s", t, f.name)}
	switch {
	case t.kind == tokenString && f.typ == fieldPort:
		return value{kind: valueText, text: t.text}, nil
	case t.kind == tokenGroup && f.typ == fieldPort:
		return value{kind: valueGroup, group: t.text}, nil
	case t.kind == tokenSet && (f.typ == fieldIPv4 || f.typ == fieldIPv6):
		return value{kind: valueSet, set: t.text}, nil
	case t.kind == tokenNumber && f.typ == fieldNumber:
		n, err := strconv.ParseUint(t.text, 0, 64)
		if err != nil || n > f.limit || strings.Contains(t.text, "_") || (len(t.text) > 1 && t.text[0] == '0' && t.text[1] != 'x') {
			return value{}, wrong
		}
		return value{kind: valueNumber, number: n}, nil
	case t.kind == tokenNumber && (f.typ == fieldIPv4 || f.typ == fieldIPv6):
		prefix, ok := parsePrefix(t.text)
		if !ok || prefix.Addr().Is4() != (f.typ == fieldIPv4) {
			return value{}, wrong
		}
		return value{kind: valuePrefix, prefix: prefix}, nil
	default:
		return value{}, wrong
	}
}

// parsePrefix reads an address with an optional length or mask. Host bits are cut off.
func parsePrefix(s string) (netip.Prefix, bool) {
	host, mask, masked := strings.Cut(s, "/")
	a, err := netip.ParseAddr(host)
	if err != nil || a.Is4In6() {
		return netip.Prefix{}, false
	}
	bits := a.BitLen()
	if masked {
		if bits, err = strconv.Atoi(mask); err != nil {
			m, err := netip.ParseAddr(mask)
			if err != nil || m.BitLen() != a.BitLen() {
				return netip.Prefix{}, false
			}
			if bits = leadingOnes(m); bits < 0 {
				return netip.Prefix{}, false
			}
		}
	}
	prefix, err := a.Prefix(bits)
	return prefix, err == nil
}

// leadingOnes is the length of a netmask, -1 when it has ones behind a zero.
func leadingOnes(mask netip.Addr) int {
	n, ended := 0, false
	for _, b := range mask.AsSlice() {
		for bit := byte(0x80); bit != 0; bit >>= 1 {
			switch {
			case b&bit == 0:
				ended = true
			case ended:
				return -1
			default:
				n++
			}
		}
	}
	return n
}

func relations() []string { return []string{"==", "!=", "<=", ">=", "<", ">"} }

func isRelation(t token) bool {
	return t.kind == tokenSymbol && slices.Contains(relations(), t.text)
}
