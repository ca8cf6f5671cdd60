package tungsten

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Values are nil, bool, json.Number, string, []any and dict.

// dict is a JSON object that keeps the order of its members, because messages quote it.
type dict []member

type member struct {
	key   string
	value any
}

// get is the value of a key; ok is false if it is absent.
func (d dict) get(key string) (value any, ok bool) {
	for _, m := range d {
		if m.key == key {
			return m.value, true
		}
	}
	return nil, false
}

// text is the value of a key if it is a string, else "".
func (d dict) text(key string) string {
	v, _ := d.get(key)
	s, _ := v.(string)
	return s
}

// set replaces the value of a key, or adds it at the end.
func (d *dict) set(key string, value any) {
	for i := range *d {
		if (*d)[i].key == key {
			(*d)[i].value = value
			return
		}
	}
	*d = append(*d, member{key, value})
}

// deepest is how deep a body may nest.
const deepest = 200

var errTooDeep = errors.New("too deep")

// decode reads one JSON value.
func decode(body []byte) (any, error) {
	in := json.NewDecoder(bytes.NewReader(body))
	in.UseNumber()
	v, err := decodeNext(in, 0)
	if err != nil {
		return nil, err
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the value")
	}
	return v, nil
}

func decodeNext(in *json.Decoder, depth int) (any, error) {
	if depth > deepest {
		return nil, errTooDeep
	}
	token, err := in.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		out := dict{}
		for in.More() {
			key, err := in.Token()
			if err != nil {
				return nil, err
			}
			value, err := decodeNext(in, depth+1)
			if err != nil {
				return nil, err
			}
			out.set(key.(string), value)
		}
		_, err = in.Token()
		return out, err
	case json.Delim('['):
		out := []any{}
		for in.More() {
			value, err := decodeNext(in, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, value)
		}
		_, err = in.Token()
		return out, err
	}
	return token, nil
}

// encode writes a value as JSON.
func encode(v any) []byte {
	var b bytes.Buffer
	encodeTo(&b, v, ",", ":")
	return b.Bytes()
}

// encodeSpaced writes a value as JSON as Python does.
func encodeSpaced(v any) string {
	var b bytes.Buffer
	encodeTo(&b, v, ", ", ": ")
	return b.String()
}

func encodeTo(b *bytes.Buffer, v any, comma, colon string) {
	switch v := v.(type) {
	case dict:
		b.WriteByte('{')
		for i, m := range v {
			if i > 0 {
				b.WriteString(comma)
			}
			encodeTo(b, m.key, comma, colon)
			b.WriteString(colon)
			encodeTo(b, m.value, comma, colon)
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteString(comma)
			}
			encodeTo(b, e, comma, colon)
		}
		b.WriteByte(']')
	case []string:
		encodeTo(b, anys(v), comma, colon)
	default:
		raw, err := json.Marshal(v)
		if err != nil {
			panic("simulator: a value that is none of JSON: " + err.Error()) // decode and the code here make no other values
		}
		b.Write(raw)
	}
}

// anys is a list of texts as a value.
func anys(texts []string) []any {
	out := make([]any, len(texts))
	for i, s := range texts {
		out[i] = s
	}
	return out
}

// texts is a value as a list of texts; ok is false if it is anything else.
func texts(v any) (out []string, ok bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	for _, e := range list {
		s, ok := e.(string)
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

// number is an integer as a value.
func number[T ~int | ~int64 | ~uint64](n T) json.Number {
	return json.Number(strconv.FormatInt(int64(n), 10))
}

// repr prints a value as Python does; the server's messages quote what they refuse.
func repr(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return reprText(v)
	case []string:
		return repr(anys(v))
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = repr(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case dict:
		parts := make([]string, len(v))
		for i, m := range v {
			parts[i] = repr(m.key) + ": " + repr(m.value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	default:
		return fmt.Sprint(v)
	}
}

func reprText(s string) string {
	quote := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = `"`
	}
	r := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, quote, `\`+quote)
	return quote + r.Replace(s) + quote
}

// plain prints a value as Python's str does.
func plain(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return repr(v)
}
