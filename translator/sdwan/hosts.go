package sdwan

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/object/address"
)

// kindHost is the kind of keys of DNS names.
const kindHost = "Host"

// clusterDomains are what may follow <service>.<namespace> in the DNS name of a Service.
var clusterDomains = [...]string{".svc.cluster.local", ".svc"}

// HostChanged has the objects that use a DNS name translated again.
func (t *Table) HostChanged(name string) { t.touch(object.Ref{Kind: kindHost, Name: name}) }

// resolve finds the IPv4 addresses of a name, in order: of a Service that is known, and otherwise from DNS. If there
// are none, the result is empty and this is reported.
func (e *translation) resolve(path, name string) []netip.Addr {
	if a, err := netip.ParseAddr(name); err == nil {
		if a.Is4() {
			return []netip.Addr{a}
		}
		e.Add(path, "%s is not an IPv4 address", name)
		return nil
	}
	if !e.matches(path, name, domainPattern, "a DNS name or an IPv4 address") {
		return nil
	}
	name = strings.ToLower(name)
	key, sure := serviceKey(name)
	if key.Name == "" {
		return e.lookUp(path, name)
	}
	e.dependOn(key)
	if o := e.services[key]; o != nil {
		return e.clusterAddr(path, o)
	}
	if sure && !e.unknown.Has(intent.AreaBalancers) {
		e.Add(path, "%s does not exist", key.Path())
		return nil
	}
	return e.lookUp(path, name)
}

// serviceKey returns the Service that a DNS name may refer to, and whether it cannot be anything else.
func serviceKey(name string) (key object.Ref, sure bool) {
	name = strings.TrimSuffix(name, ".")
	for _, domain := range clusterDomains {
		if name, sure = strings.CutSuffix(name, domain); sure {
			break
		}
	}
	service, namespace, two := strings.Cut(name, ".")
	if !two || strings.Contains(namespace, ".") {
		return object.Ref{}, false
	}
	return object.Ref{Kind: object.KindService, Namespace: namespace, Name: service}, sure
}

// clusterAddr returns the cluster IP of a Service, or the addresses of its external name.
func (e *translation) clusterAddr(path string, o *corev1.Service) []netip.Addr {
	if o.Spec.Type == corev1.ServiceTypeExternalName {
		return e.lookUp(path, strings.ToLower(o.Spec.ExternalName))
	}
	a := clusterIPv4(o)
	if a.IsValid() {
		return []netip.Addr{a}
	}
	what := "has no IPv4 cluster IP"
	if o.Spec.ClusterIP == corev1.ClusterIPNone {
		what = "is headless: it has no address of its own"
	}
	e.Add(path, "%s %s", object.Ref{Kind: object.KindService, Namespace: o.Namespace, Name: o.Name}.Path(), what)
	return nil
}

// clusterIPv4 returns the first IPv4 address among the cluster IPs; invalid if there is none.
func clusterIPv4(o *corev1.Service) netip.Addr {
	texts := o.Spec.ClusterIPs
	if len(texts) == 0 {
		texts = []string{o.Spec.ClusterIP}
	}
	for _, text := range texts {
		if a, err := address.Parse(text); err == nil && a.Is4() {
			return a
		}
	}
	return netip.Addr{}
}

// lookUp returns the answer of DNS for a name.
func (e *translation) lookUp(path, name string) []netip.Addr {
	key := object.Ref{Kind: kindHost, Name: name}
	e.dependOn(key)
	answer, known := e.hosts.Addrs(name)
	addrs := slices.DeleteFunc(slices.Clone(answer), netip.Addr.Is6)
	switch {
	case !known:
		e.open = true
		e.Add(path, "%s has not been looked up yet", name)
	case len(addrs) == 0:
		e.Add(path, "%s does not resolve to an IPv4 address", name)
	}
	return addrs
}
