package openwrt

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// What a person with a shell on the device would do. Changes of the configuration take effect when its service is reloaded.

// AddSection writes a section. The values are text or lists of text; name is "" for an anonymous section.
func (d *Device) AddSection(pkg, typ, name string, values map[string]any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pkg(pkg).missing = false
	t := d.begin(pkg)
	if name != "" && (!isSectionName(name) || t.exists(name)) {
		return fmt.Errorf("section %s of %s: not a name, or taken", name, pkg)
	}
	s := t.add(typ, name, name != "")
	for _, option := range slices.Sorted(maps.Keys(values)) {
		switch v := values[option].(type) {
		case string:
			s.set(option, v)
		case []string:
			s.setList(option, v)
		default:
			return fmt.Errorf("option %s: a %T is neither text nor a list of texts", option, v)
		}
	}
	t.commit()
	return nil
}

// RemoveSection deletes the sections of a type that have name as section name or as option name. It returns how many there
// were.
func (d *Device) RemoveSection(pkg, typ, name string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.begin(pkg)
	before := len(t.work)
	t.remove(func(s *section) bool { return s.typ == typ && s.called(name) })
	t.commit()
	return before - len(t.work)
}

// SetOption writes an option into the sections of a type that have name as section name or as option name; "" deletes it.
// It returns how many there are.
func (d *Device) SetOption(pkg, typ, name, option, value string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	t, n := d.begin(pkg), 0
	for _, s := range slices.Clone(t.work) {
		if s.typ != typ || !s.called(name) {
			continue
		}
		changed := s.without(option)
		if value != "" {
			changed.set(option, value)
		}
		t.replace(s, changed)
		n++
	}
	t.commit()
	return n
}

// without is a copy of s without an option.
func (s *section) without(name string) *section {
	c := *s
	c.options = nil
	for _, o := range s.options {
		if o.name != name {
			c.options = append(c.options, o)
		}
	}
	return &c
}

// RemovePackage deletes the file of a package. What is read from it is empty then, and what is written to it fails, but for
// the packages that the device creates when it is asked for their objects.
func (d *Device) RemovePackage(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	*d.pkg(name) = pkg{name: name, missing: true}
}

// CorruptPackage writes what UCI cannot parse into the file of a package, and returns what repairs it. Until then its lists are empty, and
// the scripts abort on its objects.
func (d *Device) CorruptPackage(name string) (repair func()) {
	set := func(corrupt bool) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.pkg(name).corrupt = corrupt
	}
	set(true)
	return func() { set(false) }
}

// FlushKernel removes everything that the device's scripts put into the kernel.
func (d *Device) FlushKernel() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.newKernel()
	if _, runs := d.running[firewallName]; runs {
		d.kernel.restartService()
	}
}

// AddToKernel adds a routing rule that is written as Kernel prints it, in the same order of words.
func (d *Device) AddToKernel(line string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	words := strings.Fields(strings.TrimPrefix(line, "ip rule add "))
	r := ipRule{not: len(words) > 0 && words[0] == "not"}
	if r.not {
		words = words[1:]
	}
	for pair := range slices.Chunk(words, 2) {
		at := map[string]*string{"prio": &r.prio, "from": &r.src, "to": &r.dst, "lookup": &r.table, "fwmark": &r.mark}[pair[0]]
		if at == nil || len(pair) < 2 {
			return fmt.Errorf("%q: not a routing rule", line)
		}
		*at = pair[1]
	}
	if "ip rule add "+r.String() != line || r.table == "" || !r.possible() {
		return fmt.Errorf("%q: not a routing rule", line)
	}
	d.kernel.addRule(r)
	return nil
}

// RemoveFromKernel removes the routes and routing rules that Kernel prints as line. It returns how many there were.
func (d *Device) RemoveFromKernel(line string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.kernel
	before := len(k.rules) + len(k.routes)
	k.rules = slices.DeleteFunc(k.rules, func(r ipRule) bool { return "ip rule add "+r.String() == line })
	k.routes = slices.DeleteFunc(k.routes, func(r ipRoute) bool { return "ip route add "+r.String() == line })
	return before - len(k.rules) - len(k.routes)
}

// SetDown sets whether mwan3 considers an interface unreachable.
func (d *Device) SetDown(iface string, down bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := d.iface(iface); i != nil {
		i.Down = down
	}
}
