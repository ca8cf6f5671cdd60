package verify

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

// ports finds the logical port of a pod, however the controller that made it names ports.
type ports struct {
	byAddr map[netip.Addr][]*nbtrace.Port
	byPod  map[string][]*nbtrace.Port // by namespace/name, as names and external_ids say
}

func newPorts(rows []nbtrace.Port) *ports {
	p := &ports{byAddr: map[netip.Addr][]*nbtrace.Port{}, byPod: map[string][]*nbtrace.Port{}}
	for i := range rows {
		row := &rows[i]
		if !local(row) {
			continue
		}
		for _, a := range row.IPs() {
			p.byAddr[a] = append(p.byAddr[a], row)
		}
		for _, name := range podsNamed(row) {
			p.byPod[name] = append(p.byPod[name], row)
		}
	}
	return p
}

// local reports whether a port may be that of a pod that this database serves: neither that of a router nor one that stands
// for a port of another database.
func local(p *nbtrace.Port) bool {
	switch p.Type {
	case "router", "localnet", "localport", "l2gateway", "vtep", "remote":
		return false
	}
	return true
}

// podsNamed lists the pods that a port may belong to by its name: external_ids of kube-ovn and of Neutron, NAMESPACE_POD of
// ovn-kubernetes, POD.NAMESPACE of kube-ovn.
func podsNamed(p *nbtrace.Port) []string {
	var out []string
	for _, key := range []string{"pod", "neutron:port_name"} {
		if name := p.ExternalIDs[key]; strings.Count(name, "/") == 1 {
			out = append(out, name)
		}
	}
	if namespace, name, ok := strings.Cut(p.Name, "_"); ok {
		out = append(out, namespace+"/"+name)
	}
	if at := strings.LastIndexByte(p.Name, '.'); at > 0 {
		out = append(out, p.Name[at+1:]+"/"+p.Name[:at])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// find returns the name of the port of a pod, "" if it has none. The error says why it is not known which port it is.
func (p *ports) find(e *labelcache.Endpoint) (string, error) {
	name := e.Key.Namespace + "/" + e.Key.Name
	has := func(row *nbtrace.Port) bool {
		ips := row.IPs()
		return !slices.ContainsFunc(e.Addrs, func(a netip.Addr) bool { return !slices.Contains(ips, a) })
	}
	var holders []*nbtrace.Port
	for _, a := range e.Addrs {
		for _, row := range p.byAddr[a] {
			if !slices.Contains(holders, row) {
				holders = append(holders, row)
			}
		}
	}
	named := p.byPod[name]
	if len(holders) > 1 { // networks with the same addresses
		holders = slices.DeleteFunc(holders, func(row *nbtrace.Port) bool { return !slices.Contains(named, row) })
	}
	switch {
	case len(holders) == 1 && has(holders[0]):
		return holders[0].Name, nil
	case len(holders) > 0:
		return "", fmt.Errorf("port %s has other addresses", holders[0].Name)
	case len(named) == 1 && len(named[0].IPs()) == 0:
		return named[0].Name, nil
	case len(named) > 0:
		return "", fmt.Errorf("port %s has other addresses", named[0].Name)
	}
	return "", nil
}

// podKey is the name of a pod as it is shown.
func podKey(k object.Key) string { return k.Namespace + "/" + k.Name }
