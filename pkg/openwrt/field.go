package openwrt

import (
	"reflect"
	"strings"
)

// shape is the form of a field's value.
type shape int

const (
	text    shape = iota
	list          // of strings
	set           // a list without a meaningful order
	objects       // a list of objects
	flag          // true or false, always present
)

// field is a field of a kind, named as on the device.
type field struct {
	name      string
	shape     shape
	secret    bool    // must not be seen
	writeOnly bool    // cannot be read back
	without   string  // the value of a field that is absent
	of        []field // of objects
	key       string  // of objects: the field that identifies them
	index     int     // in the struct
}

// fieldsOf reads the fields of a struct. The type determines the shape and what is secret, and the tag `wire` the rest:
// the name, and after commas set, writeonly, without=value and key=field.
func fieldsOf(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		tag := t.Field(i).Tag.Get("wire")
		if tag == "" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		f := field{name: name, index: i}
		f.readType(t.Field(i).Type)
		for option := range strings.SplitSeq(options, ",") {
			switch word, value, _ := strings.Cut(option, "="); word {
			case "set":
				f.shape = set
			case "writeonly":
				f.writeOnly = true
			case "without":
				f.without = value
			case "key":
				f.key = value
			}
		}
		out = append(out, f)
	}
	return out
}

func (f *field) readType(t reflect.Type) {
	switch {
	case t == reflect.TypeFor[Secret]():
		f.secret = true
	case t.Kind() == reflect.Bool:
		f.shape = flag
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		f.shape, f.of = objects, fieldsOf(t.Elem())
	case t.Kind() == reflect.Slice:
		f.shape = list
	}
}
