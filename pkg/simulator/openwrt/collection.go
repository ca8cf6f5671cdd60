package openwrt

import (
	"encoding/json"
	"slices"
	"strings"
)

// field is one field of a kind of object: its checks, and the option that stores it.
type field struct {
	name    string
	option  string             // "" is name
	check   check              // of a single value; nil for none
	item    check              // of each item of a list; nil if the field is not a list
	items   []field            // of objects within a list
	list    bool               // read back as a list even if it is stored as an option
	message string             // of an error answer
	code    string             // of an error answer, "" for 400
	without string             // the default value
	save    func(v any) string // what is stored of a value, which the object has as it was sent; nil stores it as text
}

// collection is one kind of object on the device.
type collection struct {
	module, plural, singular string
	pkg, typ                 string // UCI package and type of section
	named                    bool   // sections carry the object's name
	creates                  bool   // a missing package is created by every request
	fields                   []field
	whole                    func(*Device, object) *refusal                          // checks across fields
	create                   func(*Device, *collection, object) *refusal             // nil stores the fields in one section
	load                     func(*Device, *collection, *section) (object, *refusal) // nil reads the fields of one section
	used                     func(*Device, string) bool                              // rejects a DELETE, but not a PUT
	gone                     func(*Device, *tx, object) *refusal                     // what else is deleted with an object, first
	script                   string                                                  // named in script errors
}

// validate copies the known fields of src that have a value. Nothing is required, whatever the device's table says.
func validate(d *Device, script string, fields []field, src any) (object, *refusal) {
	from, ok := src.(map[string]any)
	if _, isNumber := src.(json.Number); isNumber || src == nil {
		return nil, fault(script, "attempt to index local 'src' (a number value)")
	}
	if !ok {
		from = nil // lists and texts have no fields
	}
	out := object{}
	for _, f := range fields {
		v := from[f.name]
		if s, isText := v.(string); isText {
			v = strings.TrimSpace(s)
		}
		if v == nil || v == "" {
			if f.without != "" {
				out[f.name] = f.without
			}
			continue
		}
		kept, no := f.judge(d, script, v)
		if no != nil {
			return nil, no
		}
		if kept != nil {
			out[f.name] = kept
		}
	}
	return out, nil
}

// judge checks one present value and returns what is stored of it, nil for nothing.
func (f *field) judge(d *Device, script string, v any) (any, *refusal) {
	if f.item != nil || f.items != nil {
		return f.judgeList(d, script, v)
	}
	if f.check != nil {
		found := f.check(d, v)
		if no := f.rejected(script, found); no != nil {
			return nil, no
		}
		if found.value != nil {
			v = found.value
		}
	}
	if f.save != nil {
		return v, nil
	}
	return plain(v), nil
}

// judgeList checks a list and each of its items. The device's lists end before the first null.
func (f *field) judgeList(d *Device, script string, v any) (any, *refusal) {
	if _, isText := v.(string); isText && f.items == nil {
		return nil, f.rejected(script, f.item(d, nil)) // the items of a text are nothing, and nothing is stored
	}
	list, isList := v.([]any)
	if _, isObject := v.(map[string]any); !isList && !isObject {
		return nil, fault(script, "attempt to get length of local 'src' (a "+kindOf(v)+" value)")
	}
	if end := slices.Index(list, nil); end >= 0 {
		list = list[:end]
	}
	if len(list) == 0 {
		return nil, f.refusal("Not an array")
	}
	if f.items != nil {
		return f.judgeObjects(d, script, list)
	}
	texts := make([]string, 0, len(list))
	for _, item := range list {
		found := f.item(d, item)
		if no := f.rejected(script, found); no != nil {
			return nil, no
		}
		if found.value != nil {
			item = found.value
		}
		if s, isText := plain(item).(string); isText {
			texts = append(texts, s)
		}
	}
	return texts, nil
}

// rejected is the answer to the result of a check, nil if it accepts.
func (f *field) rejected(script string, found finding) *refusal {
	switch {
	case found.died:
		return fault(script, "bad argument #1 to '"+f.name+"' (string expected)")
	case !found.ok:
		return f.refusal(found.detail)
	default:
		return nil
	}
}

func (f *field) judgeObjects(d *Device, script string, list []any) (any, *refusal) {
	objects := make([]object, 0, len(list))
	for _, item := range list {
		o, no := validate(d, script, f.items, item)
		if no.died() {
			return nil, no
		}
		if no != nil {
			text := no.text
			if no.code != 400 {
				text = itoa(no.code) + ":" + text // the code of an inner error ends up in the outer message
			}
			return nil, f.refusal(text)
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// refusal is the answer to a value that failed its check.
func (f *field) refusal(detail string) *refusal {
	text := "Field[" + f.name + "] checked failed: " + f.message
	if detail != "" {
		text += " [" + detail + "]"
	}
	if f.code != "" {
		return refuse(atoi(f.code), "%s", text)
	}
	return refuse(400, "%s", text)
}

// plain turns a value into what UCI stores: numbers and booleans become text, a list keeps its texts, an object is
// dropped.
func plain(v any) any {
	switch v := v.(type) {
	case bool:
		if v {
			return "1"
		}
		return "0"
	case []any:
		texts := make([]string, 0, len(v))
		for _, item := range v {
			if s, ok := asText(item); ok {
				texts = append(texts, s)
			}
		}
		return texts
	default:
		if s, ok := asText(v); ok {
			return s
		}
		return nil
	}
}

func kindOf(v any) string {
	if _, ok := v.(bool); ok {
		return "boolean"
	}
	return "number"
}

// keep writes the fields of o into s. The caller handles those of objects within lists.
func keep(s *section, fields []field, o object, withName bool) {
	for _, f := range fields {
		if f.name == "name" && !withName {
			continue
		}
		option := f.option
		if option == "" {
			option = f.name
		}
		value := o[f.name]
		if value != nil && f.save != nil {
			value = f.save(value)
		}
		switch v := value.(type) {
		case string:
			s.set(option, v)
		case []string:
			s.setList(option, v)
		}
	}
}

// read is the object stored in s. An absent option is an absent field.
func read(s *section, fields []field) object {
	o := object{"name": s.id}
	for _, f := range fields {
		name := f.option
		if name == "" {
			name = f.name
		}
		kept := s.option(name)
		switch {
		case kept == nil || f.items != nil:
		case kept.list:
			o[f.name] = kept.values
		case f.list:
			o[f.name] = []string{kept.values[0]}
		default:
			o[f.name] = kept.values[0]
		}
	}
	return o
}
