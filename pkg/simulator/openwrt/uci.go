package openwrt

import (
	"fmt"
	"slices"
	"strings"
)

// section is one section of a UCI package. It is not changed once committed; a change replaces it.
type section struct {
	id        string // its name, or a generated one if it is anonymous
	anonymous bool
	typ       string
	options   []option
}

// option is one option or list of a section.
type option struct {
	name   string
	list   bool
	values []string
}

// value is the text of an option, "" and false if there is none. A list reads as its first item.
func (s *section) value(name string) (string, bool) {
	if o := s.option(name); o != nil && len(o.values) > 0 {
		return o.values[0], true
	}
	return "", false
}

// text is the text of an option, "" if there is none.
func (s *section) text(name string) string {
	v, _ := s.value(name)
	return v
}

// items are the values of a list. An option counts as a list of its words, as OpenWRT's services read it.
func (s *section) items(name string) []string {
	o := s.option(name)
	switch {
	case o == nil:
		return nil
	case o.list:
		return o.values
	default:
		return strings.Fields(o.values[0])
	}
}

func (s *section) option(name string) *option {
	for i := range s.options {
		if s.options[i].name == name {
			return &s.options[i]
		}
	}
	return nil
}

// set writes an option; s must not be committed yet.
func (s *section) set(name, value string) {
	s.put(option{name: name, values: []string{value}})
}

// setList writes a list; an empty list removes the option.
func (s *section) setList(name string, values []string) {
	if len(values) > 0 {
		s.put(option{name: name, list: true, values: values})
	}
}

func (s *section) put(o option) {
	if old := s.option(o.name); old != nil {
		*old = o
		return
	}
	s.options = append(s.options, o)
}

// called reports whether the device finds s by name: by its section name or by its option name.
func (s *section) called(name string) bool {
	own, ok := s.value("name")
	return s.id == name || ok && own == name
}

// pkg is one UCI package: /etc/config/<name>.
type pkg struct {
	name     string
	sections []*section
	missing  bool       // there is no file
	corrupt  bool       // the file cannot be parsed
	staged   []*section // left behind by an aborted request: requests see them, and the next commit writes them to the file
}

// seen lists the sections that requests see.
func (p *pkg) seen() []*section { return slices.Concat(p.sections, p.staged) }

// byID is the section of that name, of whatever type; nil for none.
func (p *pkg) byID(id string) *section {
	for _, s := range p.seen() {
		if s.id == id {
			return s
		}
	}
	return nil
}

// find is the section of a type that has name as section name or, failing that, as option name.
func (p *pkg) find(typ, name string) *section {
	if s := p.byID(name); s != nil {
		if s.typ != typ {
			return nil
		}
		return s
	}
	for _, s := range p.seen() {
		if own, ok := s.value("name"); s.typ == typ && ok && own == name {
			return s
		}
	}
	return nil
}

// ofType lists the sections of some types in order.
func (p *pkg) ofType(types ...string) []*section {
	var out []*section
	for _, s := range p.seen() {
		if slices.Contains(types, s.typ) {
			out = append(out, s)
		}
	}
	return out
}

// export writes p as `uci export` prints it.
func (p *pkg) export(b *strings.Builder) {
	fmt.Fprintf(b, "package %s\n\n", p.name)
	for _, s := range p.sections {
		b.WriteString("config " + s.typ)
		if !s.anonymous {
			b.WriteString(" " + quote(s.id))
		}
		b.WriteString("\n")
		for _, o := range s.options {
			word := "option"
			if o.list {
				word = "list"
			}
			for _, v := range o.values {
				fmt.Fprintf(b, "\t%s %s %s\n", word, o.name, quote(v))
			}
		}
		b.WriteString("\n")
	}
}

// quote formats a value in single quotes, as uci does.
func quote(v string) string { return "'" + strings.ReplaceAll(v, "'", `'\''`) + "'" }

// isSectionName reports whether UCI accepts name as the name of a section.
func isSectionName(name string) bool {
	for _, c := range []byte(name) {
		if c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return name != ""
}

// tx is the changes of one request to one package.
type tx struct {
	d     *Device
	p     *pkg
	work  []*section
	fresh []*section // of work, those that this request made
}

// begin opens a package for writing. It includes what an earlier request left staged.
func (d *Device) begin(name string) *tx {
	p := d.pkg(name)
	return &tx{d: d, p: p, work: p.seen()}
}

// exists reports whether a section of that name exists, made by this request or earlier.
func (t *tx) exists(id string) bool {
	return slices.ContainsFunc(t.work, func(s *section) bool { return s.id == id })
}

// add makes a section. If UCI does not accept the name, no section is made, and writes to the returned one have no
// effect.
func (t *tx) add(typ, name string, named bool) *section {
	s := &section{id: name, typ: typ}
	if !named {
		t.d.serial++
		s.id, s.anonymous = fmt.Sprintf("cfg%06x", t.d.serial), true
	} else if !isSectionName(name) || typ == "" {
		return s
	}
	t.work = append(t.work, s)
	t.fresh = append(t.fresh, s)
	return s
}

// remove deletes the sections for which drop returns true.
func (t *tx) remove(drop func(*section) bool) {
	t.work = slices.DeleteFunc(slices.Clone(t.work), drop)
}

// replace replaces old by a changed copy.
func (t *tx) replace(old, with *section) {
	if i := slices.Index(t.work, old); i >= 0 {
		t.work = slices.Clone(t.work)
		t.work[i] = with
	}
}

// commit applies the changes to the package. The sections that t made are copied, so that t can be used further.
func (t *tx) commit() {
	t.p.sections = slices.Clone(t.work)
	for _, s := range t.fresh {
		if i := slices.Index(t.work, s); i >= 0 {
			c := *s
			c.options = slices.Clone(s.options)
			t.p.sections[i] = &c
		}
	}
	t.p.staged = nil
}

// revert drops the changes, and with them what an earlier request left staged.
func (t *tx) revert() { t.p.staged = nil }

// abort leaves what was added staged, as a script does that aborts before it commits.
func (t *tx) abort() {
	for _, s := range t.fresh {
		if !slices.Contains(t.p.staged, s) && slices.Contains(t.work, s) {
			t.p.staged = append(t.p.staged, s)
		}
	}
}
