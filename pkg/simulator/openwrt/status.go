package openwrt

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

// SetStatus makes the device report that JSON as the status of a module, until it restarts.
func (d *Device) SetStatus(module, status string) error {
	if !json.Valid([]byte(status)) || !slices.Contains(statusModules(), module) {
		return fmt.Errorf("status of %s: not a module, or not JSON", module)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.modules[module] = status
	return nil
}

func statusModules() []string {
	return []string{"conntrack", "interface", "ipsec", "route", "rule", "wan"}
}

// status answers with all modules as an array, or with one.
func (d *Device) status(req *http.Request, raw []string) answer {
	const all, one = 5, 6
	switch {
	case req.Method != http.MethodGet:
		return wrong(refuse(405, "Method Not Allowed"))
	case len(raw) == one && !slices.Contains(statusModules(), raw[5]):
		return wrong(refuse(400, "Bad request URI: %s is not supported", raw[5]))
	case len(raw) == one:
		return d.reported(raw[5:], d.report(raw[5]))
	case len(raw) != all:
		return wrong(refuse(400, "Bad request URI"))
	}
	body := []byte{'['}
	for i, name := range statusModules() {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, d.report(name)...)
	}
	return d.reported(statusModules(), append(body, ']'))
}

// reported is the answer to a status request for some modules. The output of ipsec ends up in the header block.
func (d *Device) reported(names []string, body []byte) answer {
	a := answer{code: 200, reason: "OK", headers: []string{"Content-Type: application/json"}, body: body}
	if !slices.Contains(names, "ipsec") || d.opts.NoLeak {
		return a
	}
	for i, s := range d.pkg("ipsec").sections {
		if s.typ != "remote" {
			continue
		}
		o := object{".anonymous": s.anonymous, ".type": s.typ, ".name": s.id, ".index": i}
		for _, kept := range s.options {
			o[kept.name] = kept.values[0]
			if kept.list {
				o[kept.name] = kept.values
			}
		}
		a.leak = append(a.leak, string(encode(o)))
	}
	return a
}

// report is one module's object.
func (d *Device) report(name string) []byte {
	if text, ok := d.modules[name]; ok {
		return fmt.Appendf(nil, `{"name":"%s","status":%s}`, name, text)
	}
	o := object{"name": name}
	switch name {
	case "conntrack":
		o["status"] = []object{}
	case "interface":
		o["status"] = d.interfaceStatus()
	case "ipsec":
		o["status"] = d.ipsecStatus()
	case "route":
		o["status"] = d.routeStatus()
	case "rule":
		o["status"] = d.ruleStatus()
	case "wan":
		o["status"] = d.wanStatus()
	}
	return encode(o)
}

func (d *Device) interfaceStatus() []object {
	list := []object{}
	for i, f := range d.opts.Interfaces {
		list = append(list, object{
			"name": f.Name, "ip_address": []string{f.Address.Addr().String()}, "mac_address": fmt.Sprintf("02:00:00:00:00:%02x", i),
			"received_packets": "0", "send_packets": "0", "status": "UP",
		})
	}
	return list
}

// ipsecStatus reports every configured connection of the running service as up.
func (d *Device) ipsecStatus() object {
	configured, running := 0, 0
	for _, s := range d.pkg("ipsec").sections {
		if s.typ == "remote" {
			configured += len(s.items("tunnel")) + len(s.items("transport"))
		}
	}
	for _, s := range d.running["ipsec"] {
		if s.typ == "remote" {
			running += len(s.items("tunnel")) + len(s.items("transport"))
		}
	}
	o := object{"InitConnection": "success", "details": []object{{"up": itoa(running), "connecting": "0"}}}
	if running < configured {
		o["InitConnection"] = "fail"
	}
	return o
}

// routeStatus lists the routes of the tables that every pod has, and of those that a routing rule looks up by number.
func (d *Device) routeStatus() object {
	out := object{"default": object{"item": []object{}}}
	var local []object
	for _, f := range d.opts.Interfaces {
		a := f.Address.Addr().String()
		local = append(local, object{"destination": "local", "device": f.Name, "proto": "kernel", "scope": "host", "src": a})
	}
	out["local"] = object{"item": local}
	list := func(table string) object {
		items := []object{}
		for _, r := range d.routes(table) {
			items = append(items, d.printed(r.status()))
		}
		return object{"item": items}
	}
	out["main"] = list("")
	for _, r := range d.kernel.rules {
		if !slices.Contains(namedTables(), r.table) {
			out[r.table] = list(r.table)
		}
	}
	d.faults.unsteadyRoutes(out)
	return out
}

// status is a route as the kernel shows it.
func (r ipRoute) status() object {
	o := object{"destination": r.dst, "device": r.dev}
	if p, ok := r.destination(); ok && p.IsSingleIP() {
		o["destination"] = p.Addr().String()
	} else if ok && p.Bits() == 0 {
		o["destination"] = "default"
	}
	switch {
	case r.via != "":
		o["gateway"] = r.via
	default:
		o["scope"] = "link"
	}
	if r.own {
		o["proto"] = "kernel"
	}
	if r.src != "" {
		o["src"] = r.src
	}
	return o
}

func (d *Device) ruleStatus() []object {
	own := func(preference int, table string) object {
		return d.printed(object{"src": "all", "prio": itoa(preference), "table": table, "not": "false"})
	}
	list := []object{own(0, "local")}
	for _, r := range d.kernel.rules {
		list = append(list, d.printed(r.status()))
	}
	return d.faults.unsteadyList(append(list, own(mainPreference, "main"), own(defaultPreference, "default")))
}

// printed is a rule or a route as the scripts read it from the line of a command, whose last word they lose unless a blank follows it.
func (d *Device) printed(o object) object {
	if !d.opts.NoTrailingBlanks {
		return o
	}
	for _, last := range []string{"table", "src", "scope", "proto", "device"} {
		if o.has(last) && (last != "src" || !o.has("not")) { // the source of a rule comes first
			delete(o, last)
			return o
		}
	}
	return o
}

// status is a rule as the kernel shows it.
func (r ipRule) status() object {
	o := object{"src": "all", "prio": fmt.Sprint(r.preference), "table": r.table, "not": fmt.Sprint(r.not)}
	for name, text := range map[string]string{"src": r.src, "dst": r.dst} {
		if p := selector(text); p.IsSingleIP() {
			o[name] = p.Addr().String()
		} else if p.IsValid() {
			o[name] = p.String()
		}
	}
	if mark := readUint(r.mark); mark != 0 {
		o["fwmark"] = fmt.Sprintf("%#x", mark)
	}
	return o
}

func (d *Device) wanStatus() object {
	interfaces := object{}
	for _, s := range d.running["mwan3"] {
		if s.typ != "interface" {
			continue
		}
		state := "online"
		if i := d.iface(s.id); i == nil || i.Down {
			state = "offline"
		}
		interfaces[s.id] = object{"status": state, "enabled": true, "running": true}
	}
	return object{"interfaces": interfaces, "policies": object{}}
}
