package simulator

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

func (d *Device) routeStatus() object {
	tables := map[string][]object{"main": {}}
	for _, f := range d.opts.Interfaces {
		if f.Default {
			tables["main"] = append(tables["main"], object{"destination": "default", "device": f.Name})
		}
		tables["main"] = append(tables["main"], object{
			"destination": f.Address.Masked().String(), "device": f.Name, "proto": "kernel", "scope": "link", "src": f.Address.Addr().String(),
		})
	}
	for _, r := range d.kernel.routes {
		table, o := r.table, object{"destination": r.dst, "device": r.dev}
		if table == "" {
			table = "main"
		}
		if r.via != "" {
			o["gateway"] = r.via
		}
		tables[table] = append(tables[table], o)
	}
	out := object{}
	for name, items := range tables {
		out[name] = object{"item": items}
	}
	return out
}

func (d *Device) ruleStatus() []object {
	list := []object{{"src": "all", "prio": "0", "table": "local", "not": "false"}}
	for i, r := range d.kernel.rules {
		o := object{"src": "all", "prio": itoa(32765 - i), "table": r.table, "not": "false"}
		for name, value := range map[string]string{"src": r.src, "dst": r.dst, "prio": r.prio, "fwmark": r.mark} {
			if value != "" {
				o[name] = value
			}
		}
		if r.not {
			o["not"] = "true"
		}
		list = append(list, o)
	}
	return append(list,
		object{"src": "all", "prio": "32766", "table": "main", "not": "false"},
		object{"src": "all", "prio": "32767", "table": "default", "not": "false"})
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
