package nbtrace

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxDepth is how deep OVN lets parentheses nest.
const maxDepth = 100

// Parse reads a match. It supports the language of ovn-sb(5) as far as doc.go describes, and refuses what OVN refuses:
// mixed && and || without parentheses, negated nominal fields, constants that do not fit their field. The error is a
// *SyntaxError. It does not check whether the groups and sets exist.
func Parse(match string) (*Expr, error) { return parse(match, vocabulary(), false) }

// parse reads a match. If it is lenient, what OVN may understand and this package does not becomes an unclear part instead
// of an error.
func parse(match string, fields map[string]*field, lenient bool) (*Expr, error) {
	tokens, err := lex(match)
	if err != nil {
		return nil, err
	}
	if lenient && slices.ContainsFunc(tokens, func(t token) bool { return t.kind == tokenTemplate }) {
		return &Expr{unclear{match}}, nil // each chassis reads something else
	}
	p := &parser{tokens: tokens, fields: fields, lenient: lenient}
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

	lenient bool
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
	if f == nil && p.lenient {
		f = &field{name: t.text, typ: fieldUnclear}
	}
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
	sub, err := p.subfield()
	if err != nil {
		return nil, false, err
	}
	switch {
	case f.typ == fieldUnclear:
		return p.unclear(f)
	case f.typ == fieldPredicate && sub == nil && !isRelation(p.peek()):
		n, err = p.word(f, at)
		return n, true, err
	case f.bit && sub == nil && !isRelation(p.peek()):
		n, err = p.compare(f, nil, at, "==", []token{{kind: tokenNumber, text: "1"}})
		return n, true, err
	case f.typ == fieldPredicate && !p.lenient:
		return nil, false, &SyntaxError{p.peek().at, fmt.Sprintf("%s is a word of its own and not compared", f.name)}
	}
	op, ok := p.accept(relations()...)
	if !ok {
		return nil, false, p.unexpected("relational operator behind " + f.name)
	}
	constants, err := p.constants()
	if err != nil {
		return nil, false, err
	}
	n, err = p.compare(f, sub, at, op, constants)
	return n, false, err
}

// word is a predicate alone.
func (p *parser) word(f *field, at token) (node, error) {
	if !p.not {
		return predicate{f}, nil
	}
	return p.orUnclear(nil, &SyntaxError{at.at, "nominal predicate " + f.name + " may not be negated"}, f)
}

// orUnclear replaces an error by an unclear part if the parser is lenient.
func (p *parser) orUnclear(n node, err error, f *field) (node, error) {
	if err != nil && p.lenient {
		return unclear{f.name}, nil
	}
	return n, err
}

// unclear reads what may follow an unknown field: arguments, or a relation with constants.
func (p *parser) unclear(f *field) (n node, atomic bool, err error) {
	if _, ok := p.accept("("); ok {
		for {
			if t := p.take(); t.kind == tokenEnd {
				return nil, false, p.unexpected("`)'")
			} else if t.kind == tokenSymbol && t.text == ")" {
				return unclear{f.name}, true, nil
			}
		}
	}
	if _, ok := p.accept(relations()...); !ok {
		return unclear{f.name}, true, nil
	}
	_, err = p.constants()
	return unclear{f.name}, false, err
}

// subfield reads "[bit]" or "[low..high]"; nil if there is none.
func (p *parser) subfield() (*[2]int, error) {
	if _, ok := p.accept("["); !ok {
		return nil, nil //nolint:nilnil // there is none
	}
	t := p.take()
	low, high, ranged := strings.Cut(t.text, "..")
	if !ranged {
		high = low
	}
	first, err := strconv.Atoi(low)
	last, err2 := strconv.Atoi(high)
	if err != nil || err2 != nil || t.kind != tokenNumber || first < 0 || last < first {
		return nil, &SyntaxError{t.at, "expected [bit] or [low..high]"}
	}
	if _, ok := p.accept("]"); !ok {
		return nil, p.unexpected("`]'")
	}
	return &[2]int{first, last}, nil
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
	sub, err := p.subfield()
	if err != nil {
		return nil, err
	}
	low, err := p.compare(f, sub, at, mirrored(op), left)
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
	high, err := p.compare(f, sub, at, op2, right)
	if err != nil {
		return nil, err
	}
	return p.join(true, low, high), nil
}

// constants reads one constant, or several in braces. Commas between them may be left out, as in OVN.
func (p *parser) constants() ([]token, error) {
	constant := func() (token, error) {
		switch p.peek().kind {
		case tokenNumber, tokenString, tokenSet, tokenGroup, tokenTemplate:
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

// compare makes a comparison of a field or of some bits of it, inverted under a negation.
func (p *parser) compare(f *field, sub *[2]int, at token, op string, constants []token) (node, error) {
	if p.not {
		op = opposite(op)
	}
	n, err := comparisonOf(f, sub, at, op, constants)
	return p.orUnclear(n, err, f)
}

func comparisonOf(f *field, sub *[2]int, at token, op string, constants []token) (node, error) {
	switch {
	case f.typ == fieldPredicate:
		return nil, &SyntaxError{at.at, fmt.Sprintf("%s is a word of its own and not compared", f.name)}
	case f.exact && op != "==":
		return nil, &SyntaxError{at.at, fmt.Sprintf("nominal field %s may only be tested for equality (taking enclosing `!' operators into account)", f.name)}
	}
	of := f
	if sub != nil {
		if of = f.part(sub); of == nil {
			return nil, &SyntaxError{at.at, fmt.Sprintf("%s has no bits %d to %d to compare", f.name, sub[0], sub[1])}
		}
	}
	var values []value
	for _, t := range constants {
		v, err := constantFor(of, t)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	if op != "==" && op != "!=" {
		v := values[0]
		if len(values) > 1 || v.kind == valueSet || v.kind == valueNumber && v.mask != wholeNumber || v.kind == valuePrefix && !v.prefix.IsSingleIP() {
			return nil, &SyntaxError{constants[0].at, "only == and != may be used with sets and masked constants"}
		}
	}
	if sub != nil {
		return &bits{field: f, first: sub[0], last: sub[1], op: op, values: values}, nil
	}
	return &comparison{field: f, op: op, values: values}, nil
}
