package openwrt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// object is an object that passed the checks: its values are text, lists of text, objects, or bool.
type object map[string]any

// has reports whether a field exists.
func (o object) has(name string) bool { _, ok := o[name]; return ok }

// text is a text field, "" for any other.
func (o object) text(name string) string {
	s, _ := o[name].(string)
	return s
}

// decode reads a body as the device's parser does: the answer to invalid JSON begins with "Body parse error: ".
func decode(body []byte) (any, *refusal) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, refuse(400, "Body parse error: unexpected end of data")
	case err != nil:
		return nil, refuse(400, "Body parse error: unexpected character")
	}
	switch v.(type) {
	case nil, bool, json.Number:
		if dec.InputOffset() == int64(len(body)) { // the parser waits for the character after it
			return nil, refuse(400, "Body parse error: unexpected end of data")
		}
	}
	return v, nil
}

// encode encodes a value as the device does: slashes escaped, bytes that are not UTF-8 as they are. The order of an
// object's members has no meaning, so they are reversed.
func encode(v any) []byte {
	var b bytes.Buffer
	write(&b, v)
	return b.Bytes()
}

func write(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		fmt.Fprintf(b, "%t", v)
	case int:
		fmt.Fprintf(b, "%d", v)
	case string:
		writeText(b, v)
	case []string:
		writeList(b, v)
	case []object:
		writeList(b, v)
	case []any:
		writeList(b, v)
	case object:
		names := slices.Sorted(maps.Keys(v))
		slices.Reverse(names)
		b.WriteByte('{')
		for i, name := range names {
			if i > 0 {
				b.WriteByte(',')
			}
			writeText(b, name)
			b.WriteByte(':')
			write(b, v[name])
		}
		b.WriteByte('}')
	default:
		panic(fmt.Sprintf("simulator: cannot encode a %T", v)) // the device has no such value
	}
}

func writeList[T any](b *bytes.Buffer, list []T) {
	b.WriteByte('[')
	for i, v := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		write(b, v)
	}
	b.WriteByte(']')
}

func writeText(b *bytes.Buffer, s string) {
	// The device's strings end at a zero byte when they are encoded.
	s, _, _ = strings.Cut(s, "\x00")
	b.WriteByte('"')
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\' || c == '/':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case c < 0x20:
			fmt.Fprintf(b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
}
