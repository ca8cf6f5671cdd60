package sdwan

import (
	"net/netip"
	"slices"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
)

// tcp is the protocol of CNFService and CNFLocalService.
const tcp = "tcp"

// readService forwards a port of the CNFs to a service: port is theirs, dport the service's, and either defaults to the
// other. Without both, every packet would be forwarded, including those that configure the CNF.
//
// The NAT is added to the end of its chain. Upstream inserts it second, which fails silently if the chain is empty.
func (e *translation) readService(s *v1alpha1.CNFServiceSpec) {
	from, to := e.port("spec.port", string(s.Port)), e.port("spec.dport", string(s.DPort))
	e.need("spec.fullname", s.FullName != "", "the DNS name of a service")
	e.need("spec.port", s.Port != "" || s.DPort != "", "port or dport: without them all packets for the CNF would be redirected")
	if e.broken {
		return
	}
	if from == 0 {
		from = to
	}
	if to == 0 {
		to = from
	}
	if !e.take("spec.port", port{e.scope, tcp, from}) {
		return
	}
	if addrs := e.resolve("spec.fullname", string(s.FullName)); len(addrs) > 0 {
		e.setOnlyPart(&intent.LinkNAT{Translation: intent.Translation{
			Kind: intent.DestinationNAT, Match: intent.Match{Protocol: tcp, DstPort: from}, Addr: addrs[0], Port: to,
		}})
	}
}

// readLocalService redirects packets for any address of the remote service to the local one.
func (e *translation) readLocalService(s *v1alpha1.CNFLocalServiceSpec) {
	e.need("spec.localservice", s.LocalService != "", "the DNS name of a service")
	e.need("spec.remoteservice", s.RemoteService != "", "the DNS name of a service")
	from, to := e.port("spec.remoteport", string(s.RemotePort)), e.port("spec.localport", string(s.LocalPort))
	if e.broken {
		return
	}
	local := e.resolve("spec.localservice", string(s.LocalService))
	nothing := len(local) == 0 && !e.open // whatever the remote service is
	remote := e.resolve("spec.remoteservice", string(s.RemoteService))
	if len(local) == 0 {
		e.open = e.open && !nothing
		return
	}
	for _, a := range remote {
		e.parts = append(e.parts, part{a.String(), &intent.LinkNAT{Translation: intent.Translation{
			Kind:  intent.DestinationNAT,
			Match: intent.Match{Dst: single(a), Protocol: tcp, DstPort: from},
			Addr:  local[0], Port: to,
		}}})
	}
}

// The two ends of a tunnel, as named in CNFHubSite.
const (
	onHub    = "Hub"
	onDevice = "Device"
)

// tunnelPrefix begins the name of the interface of a tunnel; the address of its other end follows.
const tunnelPrefix = "vti_"

// readHubSite routes each address of a site, and its subnet, into the tunnel. Names of the site that do not resolve are
// reported; the subnet is routed anyway.
func (e *translation) readHubSite(s *v1alpha1.CNFHubSiteSpec) {
	e.need("spec.type", s.Type != "", "Hub or Device")
	e.word("spec.type", s.Type, onHub, onDevice)
	e.need("spec.hubip", s.Type != onHub || s.HubIP != "", "the address of the tunnel's other end with type Hub")
	e.need("spec.devicepip", s.Type != onDevice || s.DevicePIP != "", "the address in the tunnel with type Device")
	e.need("spec.subnet", s.Site != "" || s.Subnet != "", "site or subnet")
	hub, device := e.host("spec.hubip", string(s.HubIP)), e.host("spec.devicepip", string(s.DevicePIP))
	subnet := e.prefix("spec.subnet", string(s.Subnet))
	if e.broken {
		return
	}
	var site []netip.Addr
	if s.Site != "" {
		site = e.resolve("spec.site", string(s.Site))
	}
	var all []netip.Prefix
	for _, a := range site {
		all = append(all, single(a))
	}
	if subnet.IsValid() && !slices.Contains(all, subnet) {
		all = append(all, subnet)
	}
	for _, dst := range all {
		if s.Type == onHub {
			e.routeInto(dst, intent.Link{Name: tunnelPrefix + hub.String()}, intent.TableMain)
			continue
		}
		e.routeInto(dst, intent.Link{Addr: device}, intent.TableCNF)
		e.parts = append(e.parts, part{"nat/" + prefixText(dst), &intent.LinkNAT{
			To:          intent.Link{Source: true},
			Translation: intent.Translation{Kind: intent.SourceNAT, Match: intent.Match{Dst: dst}, Addr: device},
			Place:       1, // before any rule that masquerades
		}})
	}
}

func (e *translation) routeInto(dst netip.Prefix, dev intent.Link, table string) {
	e.parts = append(e.parts, part{"route/" + prefixText(dst), &intent.Route{Dst: dst, Dev: dev, Table: table}})
}

func single(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

// prefixText renders a prefix of one address as that address.
func prefixText(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}
