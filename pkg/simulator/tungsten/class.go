package tungsten

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// class is the type of a structured property.
type class struct {
	name   string
	fields map[string]*property
	subnet bool // a prefix, which is masked
}

// property is the type of a property, or of a field of a class.
type property struct {
	class    *class   // nil for a simple value
	list     bool     // a list of values; only within classes
	wrapper  string   // of a list or map property: the field of its class that lists the elements
	key      string   // of a map property: the field of an element that is its key
	integer  bool     // simple
	boolean  bool     // simple
	min, max int      // of an integer, if max is not 0
	values   []string // all that are allowed
}

// text is a string.
var text = &property{}

// structured is a property of a class.
func structured(name string, fields map[string]*property) *property {
	return &property{class: &class{name: name, fields: fields}}
}

func listOf(p *property) *property {
	out := *p
	out.list = true
	return &out
}

// element is the class of the elements of a list or map property.
func (p *property) element() *class { return p.class.fields[p.wrapper].class }

// check validates the value of a property and returns it as it is stored. Its error is the end of the server's message.
func (p *property) check(name string, value any) (any, error) {
	if value == nil {
		return nil, nil
	}
	if p.class == nil {
		out, err := p.checkSimple(value)
		if err != nil {
			return nil, fmt.Errorf("Error validating property %s: %w", name, err) //nolint:staticcheck // as the server writes it
		}
		return out, nil
	}
	body, ok := value.(dict)
	if !ok {
		return nil, fmt.Errorf("Error in property %s type %s value of %s ", name, p.class, plain(value)) //nolint:staticcheck // the same
	}
	quoted := repr(body)
	out, err := p.class.check(body)
	if err != nil {
		return nil, fmt.Errorf("Error validating property %s value %s %w", name, quoted, err) //nolint:staticcheck // the same
	}
	return out, nil
}

func (c *class) String() string { return "<class 'vnc_api.gen.resource_xsd." + c.name + "'>" }

// check validates the fields of a structure.
func (c *class) check(body dict) (dict, error) {
	out := make(dict, 0, len(body))
	if c.subnet {
		masked, err := mask(body)
		if err != nil {
			return nil, err
		}
		body = masked
	}
	for _, m := range body {
		p := c.fields[m.key]
		if p == nil {
			return nil, fmt.Errorf("class %s does not have field %s", c, m.key)
		}
		if m.value == nil {
			out = append(out, m)
			continue
		}
		value, err := p.checkField(m.key, m.value)
		if err != nil {
			return nil, err
		}
		out = append(out, member{m.key, value})
	}
	return out, nil
}

// checkField validates a field that is not null.
func (p *property) checkField(name string, value any) (any, error) {
	if !p.list {
		return p.checkOne(name, value)
	}
	list, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("Field %s must be a list. Received value: %s", name, plain(value)) //nolint:staticcheck // as the server writes it
	}
	out := make([]any, len(list))
	for i, e := range list {
		var err error
		if out[i], err = p.checkOne(name, e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (p *property) checkOne(name string, value any) (any, error) {
	if p.class == nil {
		out, err := p.checkSimple(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return out, nil
	}
	body, ok := value.(dict)
	if !ok {
		return nil, fmt.Errorf("'%s' object has no attribute 'items'", pythonType(value))
	}
	return p.class.check(body)
}

func (p *property) checkSimple(value any) (any, error) {
	switch {
	case p.boolean:
		if _, ok := value.(bool); !ok {
			return nil, fmt.Errorf("true/false expected instead of %s", plain(value))
		}
		return value, nil
	case p.integer:
		n, err := strconv.Atoi(plain(value))
		if err != nil {
			return nil, fmt.Errorf("integer value expected instead of %s", plain(value))
		}
		if p.max != 0 && (n < p.min || n > p.max) {
			return nil, fmt.Errorf("value must be between %d and %d", p.min, p.max)
		}
		return number(n), nil
	}
	s, ok := value.(string)
	if !ok {
		return nil, fmt.Errorf("string value expected instead of %s", plain(value))
	}
	if p.values != nil && !contains(p.values, s) {
		return nil, fmt.Errorf("value must be one of %s", repr(p.values))
	}
	return s, nil
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

// mask clears the bits of the host in a prefix.
func mask(body dict) (dict, error) {
	for _, name := range []string{"ip_prefix", "ip_prefix_len"} {
		if _, ok := body.get(name); !ok {
			return nil, errors.New(repr(name))
		}
	}
	prefix, _ := body.get("ip_prefix")
	length, _ := body.get("ip_prefix_len")
	p, err := netip.ParsePrefix(plain(prefix) + "/" + plain(length))
	if err != nil || strings.Contains(plain(prefix), "%") {
		return nil, fmt.Errorf("Subnet type '%s/%s' is invalid", plain(prefix), plain(length)) //nolint:staticcheck // as the server writes it
	}
	out := dict{}
	for _, m := range body {
		if m.key == "ip_prefix" {
			m.value = p.Masked().Addr().String()
		}
		out = append(out, m)
	}
	return out, nil
}

func pythonType(v any) string {
	switch v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case json.Number:
		return "int"
	case string:
		return "str"
	case []any:
		return "list"
	default:
		return "dict"
	}
}
