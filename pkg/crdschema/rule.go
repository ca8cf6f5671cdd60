package crdschema

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// expression is a part of a rule. It gives a bool, a string, an int64 or something of the object; an error means that it
// has no value, such as a field that is not there.
type expression func(self any) (any, error)

// tokens are what a rule is made of. Text is the one that begins with a quotation mark.
var tokens = regexp.MustCompile(`^(?:\s+|('(?:[^'\\]|\\.)*'|[A-Za-z_][A-Za-z0-9_]*|[0-9]+|&&|\|\||==|!=|<=|>=|[!<>().]))`)

// parser reads a rule from its tokens.
type parser struct{ rest []string }

// parseRule reads a rule: comparisons of self, its fields, has, size, int and matches, joined by !, && and ||.
func parseRule(text string) (expression, error) {
	p := &parser{}
	for text != "" {
		m := tokens.FindStringSubmatch(text)
		if m == nil {
			return nil, fmt.Errorf("cannot read %q", text)
		}
		if m[1] != "" {
			p.rest = append(p.rest, m[1])
		}
		text = text[len(m[0]):]
	}
	e, err := p.either()
	if err == nil && len(p.rest) > 0 {
		err = fmt.Errorf("did not expect %q", p.rest[0])
	}
	return e, err
}

// next is the next token, "" at the end.
func (p *parser) next() string {
	if len(p.rest) == 0 {
		return ""
	}
	return p.rest[0]
}

// take takes the next token if it is t.
func (p *parser) take(t string) bool {
	if p.next() != t {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// expect takes tokens that have to come.
func (p *parser) expect(all ...string) error {
	for _, t := range all {
		if !p.take(t) {
			return fmt.Errorf("expected %q, found %q", t, p.next())
		}
	}
	return nil
}

func (p *parser) either() (expression, error) { return p.chain("||", true, p.both) }

func (p *parser) both() (expression, error) { return p.chain("&&", false, p.comparison) }

// chain reads operands with an operator between them. A value that decides makes up for operands that have none.
func (p *parser) chain(operator string, decides bool, operand func() (expression, error)) (expression, error) {
	first, err := operand()
	if err != nil {
		return nil, err
	}
	all := []expression{first}
	for p.take(operator) {
		e, err := operand()
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	if len(all) == 1 {
		return first, nil
	}
	return func(self any) (any, error) {
		var failed error
		for _, e := range all {
			v, err := e(self)
			if err == nil && v == decides {
				return decides, nil
			}
			failed = errors.Join(failed, err)
		}
		return !decides, failed
	}, nil
}

// comparison reads an operand with or without another one to compare it with.
func (p *parser) comparison() (expression, error) {
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	operator := p.next()
	switch operator {
	case "==", "!=", "<", "<=", ">", ">=":
		p.rest = p.rest[1:]
	default:
		return left, nil
	}
	right, err := p.operand()
	if err != nil {
		return nil, err
	}
	return func(self any) (any, error) {
		l, err1 := left(self)
		r, err2 := right(self)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		return compare(l, operator, r)
	}, nil
}

func compare(l any, operator string, r any) (any, error) {
	switch operator {
	case "==":
		return l == r, nil
	case "!=":
		return l != r, nil
	}
	a, ok1 := l.(int64)
	b, ok2 := r.(int64)
	switch {
	case !ok1 || !ok2:
		return nil, errors.New("only numbers have an order")
	case operator == "<":
		return a < b, nil
	case operator == "<=":
		return a <= b, nil
	case operator == ">":
		return a > b, nil
	default:
		return a >= b, nil
	}
}

// operand reads what stands between operators.
func (p *parser) operand() (expression, error) {
	t := p.next()
	switch {
	case t == "":
		return nil, errors.New("it ends too early")
	case p.take("!"):
		e, err := p.operand()
		return negated(e), err
	case p.take("("):
		e, err := p.either()
		if err != nil {
			return nil, err
		}
		return e, p.expect(")")
	case p.take("has"), p.take("size"), p.take("int"):
		return p.call(t)
	case t == "self":
		return p.selfOrField()
	case t[0] == '\'':
		p.rest = p.rest[1:]
		s, err := unquote(t)
		return constant(s), err
	default:
		n, err := strconv.ParseInt(t, 10, 64)
		p.rest = p.rest[1:]
		return constant(n), err
	}
}

func constant(v any) expression { return func(any) (any, error) { return v, nil } }

func negated(e expression) expression {
	return func(self any) (any, error) {
		v, err := e(self)
		return v != true, err
	}
}

// unquote takes text out of its quotation marks.
func unquote(t string) (string, error) {
	inner := strings.ReplaceAll(strings.ReplaceAll(t[1:len(t)-1], `\'`, `'`), `"`, `\"`)
	return strconv.Unquote(`"` + inner + `"`)
}

// call reads the argument of a function.
func (p *parser) call(function string) (expression, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	e, err := p.either()
	if err != nil {
		return nil, err
	}
	return func(self any) (any, error) {
		v, err := e(self)
		if function == "has" {
			return err == nil, nil
		}
		if err != nil {
			return nil, err
		}
		return apply(function, v)
	}, p.expect(")")
}

func apply(function string, v any) (any, error) {
	switch v := v.(type) {
	case string:
		if function == "int" {
			return strconv.ParseInt(v, 10, 64)
		}
		return int64(utf8.RuneCountInString(v)), nil
	case []any:
		if function == "size" {
			return int64(len(v)), nil
		}
	case map[string]any:
		if function == "size" {
			return int64(len(v)), nil
		}
	}
	return nil, fmt.Errorf("%s of %s has no value", function, typeOf(v))
}

// selfOrField reads self, a field of it, and whether its text matches something.
func (p *parser) selfOrField() (expression, error) {
	p.rest = p.rest[1:]
	e := expression(func(self any) (any, error) { return self, nil })
	for p.take(".") {
		name := p.next()
		if name == "" {
			return nil, errors.New("it ends too early")
		}
		p.rest = p.rest[1:]
		if name == "matches" {
			return p.matches(e)
		}
		of := e
		e = func(self any) (any, error) {
			v, err := of(self)
			if err != nil {
				return nil, err
			}
			m, _ := v.(map[string]any)
			if v, ok := m[name]; ok {
				return v, nil
			}
			return nil, fmt.Errorf("no such key: %s", name)
		}
	}
	return e, nil
}

func (p *parser) matches(of expression) (expression, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	quoted := p.next()
	if quoted == "" || quoted[0] != '\'' {
		return nil, fmt.Errorf("expected text, found %q", quoted)
	}
	p.rest = p.rest[1:]
	text, err := unquote(quoted)
	if err != nil {
		return nil, err
	}
	pattern, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return func(self any) (any, error) {
		v, err := of(self)
		s, ok := v.(string)
		if err == nil && !ok {
			err = errors.New("only text can match")
		}
		return err == nil && pattern.MatchString(s), err
	}, p.expect(")")
}
