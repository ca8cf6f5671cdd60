package openwrt

import (
	"maps"
	"slices"
)

// createRemote stores a remote, its certificates as files, and a section for each connection. A remote with a type is
// committed before it is complete, because the global switches of its type are.
func createRemote(d *Device, c *collection, o object) *refusal {
	t := d.begin(c.pkg)
	name := o.text("name")
	if t.exists(name) {
		t.revert()
		return refuse(409, "Conflict")
	}
	s := t.add(c.typ, name, true)
	if o.has("type") {
		setGlobals(t, o.text("type"))
		t.commit()
	}
	files := maps.Clone(o)
	for _, kind := range credentials() {
		if text := o.text(kind.field); text != "" {
			paths, no := d.saveCredentials(c.script, name, text, kind)
			if no != nil {
				keep(s, c.before(kind.field), o, false)
				t.abort()
				return no
			}
			files[kind.field] = paths
		}
	}
	keep(s, c.fields, files, false)
	if no := createConnections(t, s, o); no != nil {
		t.revert()
		return no
	}
	t.commit()
	return nil
}

// before lists the fields before one of them.
func (c *collection) before(name string) []field {
	return c.fields[:slices.IndexFunc(c.fields, func(f field) bool { return f.name == name })]
}

// createConnections makes a section for each connection of a remote and lists their names in the remote's, also the names
// that UCI does not accept.
func createConnections(t *tx, remote *section, o object) *refusal {
	connections, _ := o["connections"].([]object)
	for _, kind := range connectionKinds() {
		var names []string
		for _, conn := range connections {
			if conn.text("conn_type") != kind {
				continue // without a type a connection is lost
			}
			id := conn.text("name")
			if t.exists(id) {
				return refuse(409, "Conflict")
			}
			fields := maps.Clone(conn)
			delete(fields, "conn_type")
			keep(t.add(kind, id, true), connectionFields(field{name: "crypto_proposal"}), fields, false)
			names = append(names, id)
		}
		remote.setList(kind, names)
	}
	return nil
}

// connectionKinds are the types of sections of connections, in the order in which a remote shows them.
func connectionKinds() []string { return []string{"tunnel", "transport"} }

// setGlobals writes the settings for the type of a remote into the first section of type ipsec.
func setGlobals(t *tx, kind string) {
	i := slices.IndexFunc(t.work, func(s *section) bool { return s.typ == "ipsec" })
	if i < 0 {
		return
	}
	vip := "1"
	if kind == "VTI-based" {
		vip = "0"
	}
	changed := *t.work[i]
	changed.options = slices.Clone(changed.options)
	changed.set("rtinstall_enabled", "0")
	changed.set("vip_enabled", vip)
	t.replace(t.work[i], &changed)
}

// loadRemote reads a remote and its connections, tunnels first. A remote that lists connections, none of which exists, has
// an empty list.
func loadRemote(d *Device, c *collection, s *section) (object, *refusal) {
	o := read(s, c.fields)
	for _, kind := range credentials() {
		delete(o, kind.field)
		text, no := d.showCredentials(c.script, s.option(kind.field))
		if no != nil {
			return nil, no
		}
		if text != nil {
			o[kind.field] = *text
		}
	}
	for _, kind := range connectionKinds() {
		for _, name := range s.items(kind) {
			connections, _ := o["connections"].([]object)
			if made := d.section(c.pkg, name); made != nil && made.typ == kind {
				conn := read(made, connectionFields(field{name: "crypto_proposal", list: true}))
				conn["conn_type"] = kind
				connections = append(connections, conn)
			}
			o["connections"] = connections
		}
	}
	return o, nil
}

// dropRemote deletes what belongs to a remote: the sections of its connections, and the first file of each list of
// certificates. The other paths begin with a blank, and so match no file.
func dropRemote(d *Device, t *tx, o object) *refusal {
	connections, _ := o["connections"].([]object)
	t.remove(func(s *section) bool {
		return slices.ContainsFunc(connections, func(c object) bool { return s.typ == c.text("conn_type") && s.called(c.text("name")) })
	})
	for _, kind := range credentials() {
		if s := d.find(t.p.name, "remote", o.text("name")); s != nil {
			for _, path := range parts(s.text(kind.field), ",^") {
				delete(d.files, path)
			}
		}
	}
	return nil
}
