package openwrt

import (
	"net/http"
	"slices"
)

// services are those that can be started and stopped.
func services() []string { return []string{"mwan3", firewallName, "ipsec"} }

func (d *Device) services(req *http.Request, at []string) answer {
	if len(at) != 2 {
		return html(404, "Not Found", "Not Found")
	}
	if req.Method != http.MethodGet {
		return wrong(refuse(405, "Method Not Allowed"))
	}
	return right(200, "OK")(object{"services": services()}, nil)
}

// service starts, stops, restarts or reloads a service. The device does not check whether that worked.
func (d *Device) service(req *http.Request, body []byte, raw []string) answer {
	if req.Method != http.MethodPut {
		return wrong(refuse(405, "Method Not Allowed"))
	}
	if len(raw) != 6 || !slices.Contains(services(), raw[5]) {
		return wrong(refuse(400, "Bad request URI"))
	}
	return d.write(false, func(func() *refusal) answer {
		src, a := decodeBody(req, body)
		if a != nil {
			return *a
		}
		o, no := validate(d, "service", []field{
			{name: "action", check: oneOf("start", "stop", "restart", "reload"), message: "wrong action"},
		}, src)
		if no != nil {
			return wrong(no)
		}
		action := o.text("action")
		if action == "" {
			return wrong(fault("service", "attempt to concatenate local 'action' (a nil value)"))
		}
		d.record.actions = append(d.record.actions, Action{Service: raw[5], Verb: action})
		if action == "stop" {
			d.stop(raw[5])
		} else {
			d.reload(raw[5])
		}
		return success()
	})
}

// reload applies the current package of a service.
func (d *Device) reload(service string) {
	d.running[service] = d.pkg(service).sections
	switch service {
	case firewallName:
		d.kernel.restartService()
	case "ipsec":
		d.loadStrongSwan()
	}
}

func (d *Device) stop(service string) {
	delete(d.running, service)
	if service == "ipsec" {
		d.strongSwan = strongSwan{}
	}
}
