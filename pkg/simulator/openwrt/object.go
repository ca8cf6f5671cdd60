package openwrt

import "strings"

// The five operations on a collection. d.mu is locked.

// list answers GET of a collection.
func (c *collection) list(d *Device) (any, *refusal) {
	all := []object{}
	sections := d.ofType(c.pkg, c.typ)
	if d.pkg(c.pkg).corrupt {
		sections = nil
	}
	for _, s := range sections {
		o, no := c.object(d, s)
		if no != nil {
			return nil, no
		}
		all = append(all, o)
	}
	return object{c.plural: all}, nil
}

// get is the object of that name, nil if there is none.
func (c *collection) get(d *Device, name string) (object, *refusal) {
	if d.pkg(c.pkg).corrupt {
		return nil, fault("utils", "attempt to index a nil value")
	}
	s := d.find(c.pkg, c.typ, name)
	if s == nil {
		return nil, nil
	}
	return c.object(d, s)
}

// object reads one section.
func (c *collection) object(d *Device, s *section) (object, *refusal) {
	if c.load != nil {
		return c.load(d, c, s)
	}
	return read(s, c.fields), nil
}

// show is the answer with one object, null if the device cannot find what it has just written.
func (c *collection) show(d *Device, name string) (any, *refusal) {
	o, no := c.get(d, name)
	if no != nil || o == nil {
		return nil, no
	}
	return o, nil
}

// item answers GET of one object.
func (c *collection) item(d *Device, name string) (any, *refusal) {
	o, no := c.get(d, name)
	if no != nil {
		return nil, no
	}
	if o == nil {
		return nil, refuse(404, "Cannot find %s[%s]", c.singular, name)
	}
	return o, nil
}

// post answers POST.
func (c *collection) post(d *Device, body any) (any, *refusal) {
	o, no := c.check(d, body)
	if no != nil {
		return nil, no
	}
	src, _ := body.(map[string]any)
	name, _ := src["name"].(string)
	if name = strings.TrimSpace(name); name == "" {
		return nil, refuse(400, "Field[name] checked failed: required")
	}
	if no := c.store(d, o); no != nil {
		return nil, no
	}
	return c.show(d, name)
}

// put answers PUT: delete and create. between is called after the first half; if it returns an answer, the request ends.
func (c *collection) put(d *Device, name string, body any, between func() *refusal) (any, *refusal) {
	o, no := c.check(d, body)
	if no != nil {
		return nil, no
	}
	o["name"] = name
	if no := c.drop(d, name, false); no != nil && no.code != 404 {
		return nil, no
	}
	if no := between(); no != nil {
		return nil, no
	}
	if no := c.store(d, o); no != nil {
		return nil, no
	}
	return c.show(d, name)
}

// check validates a body.
func (c *collection) check(d *Device, body any) (object, *refusal) {
	o, no := validate(d, c.script, c.fields, body)
	if no == nil && c.whole != nil {
		no = c.whole(d, o)
	}
	return o, no
}

// store creates an object.
func (c *collection) store(d *Device, o object) *refusal {
	if p := d.pkg(c.pkg); d.daemon.lost || p.missing || p.corrupt {
		return fault(c.script, "bad argument #2 to 'set' (string expected, got nil)") // no section could be made
	}
	if d.faults.half {
		t := d.begin(c.pkg)
		keep(t.add(c.typ, o.text("name"), c.named), c.fields[:2], o, !c.named)
		t.abort()
		return fault(c.script, "no space left on device")
	}
	if c.create != nil {
		return c.create(d, c, o)
	}
	return c.section(d, o, func(object) *refusal { return nil })
}

// section stores o in one section, runs then and commits. If then aborts, the section stays staged.
func (c *collection) section(d *Device, o object, then func(object) *refusal) *refusal {
	t := d.begin(c.pkg)
	name := o.text("name")
	if t.exists(name) {
		t.revert()
		return refuse(409, "Conflict")
	}
	keep(t.add(c.typ, name, c.named), c.fields, o, !c.named)
	if no := then(o); no != nil {
		if no.died() {
			t.abort()
		} else {
			t.revert()
		}
		return no
	}
	t.commit()
	return nil
}

// drop deletes every section of that name. Only a DELETE checks whether the object is used.
func (c *collection) drop(d *Device, name string, careful bool) *refusal {
	o, no := c.get(d, name)
	if no != nil {
		return no
	}
	if o == nil {
		return refuse(404, "%s %s is not defined", c.singular, name)
	}
	if careful && c.used != nil && c.used(d, name) {
		return refuse(400, "%s %s is used", c.singular, name)
	}
	t := d.begin(c.pkg)
	if c.gone != nil {
		if no := c.gone(d, t, o); no != nil {
			return no
		}
	}
	t.remove(func(s *section) bool { return s.typ == c.typ && s.called(name) })
	t.commit()
	return nil
}
