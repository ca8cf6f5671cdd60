package translator

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/intent"
)

// kindHost is the kind of keys that stand for DNS names.
const kindHost = "Host"

// clusterDomains are what may follow <service>.<namespace> in the DNS name of a Service.
var clusterDomains = [...]string{".svc.cluster.local", ".svc"}

// host is what is known of a DNS name.
type host struct {
	asked bool         // somebody has looked it up
	addrs []netip.Addr // of IPv4, in order
}

// SetHost says which addresses a DNS name of Hosts has; none says that it does not resolve. Of a name that nobody wants it
// takes no note, and a name that has been out of Hosts has to be told anew.
func (t *Translator) SetHost(name string, addrs []netip.Addr) {
	h := t.edges.hosts[name]
	if h == nil {
		return
	}
	var now []netip.Addr
	for _, a := range addrs {
		if a = a.Unmap(); a.Is4() {
			now = append(now, a)
		}
	}
	slices.SortFunc(now, netip.Addr.Compare)
	now = slices.Compact(now)
	if h.asked && slices.Equal(h.addrs, now) {
		return
	}
	*h = host{asked: true, addrs: now}
	t.touch(objectKey{kindHost, "", name})
}

// Hosts lists the DNS names that objects speak of and the API does not know, sorted. It speaks of the objects as of the last
// Snapshot. While a name has not been told by SetHost, what depends on it is a Problem and not in the snapshot; so a
// snapshot is handed on only when every name has been told once, or gateways would lose for a moment what they hold.
func (t *Translator) Hosts() []string { return slices.Sorted(maps.Keys(t.edges.hosts)) }

// resolve finds the IPv4 addresses of a name, in order: of a Service that is known, and otherwise what DNS says. It is
// empty, and reported, where there are none.
func (e *edgeTranslation) resolve(field, name string) []netip.Addr {
	if a, err := netip.ParseAddr(name); err == nil {
		if a.Is4() {
			return []netip.Addr{a}
		}
		e.add(field, "%s is not an IPv4 address", name)
		return nil
	}
	if !e.matches(field, name, domainPattern, "a DNS name or an IPv4 address") {
		return nil
	}
	name = strings.ToLower(name)
	key, sure := serviceKey(name)
	if key.name == "" {
		return e.lookUp(field, name)
	}
	e.look(key)
	if s := e.services.byKey[key]; s != nil && s.object != nil {
		return e.clusterAddr(field, s.object)
	}
	if sure && !e.unknown.Has(intent.AreaBalancers) {
		e.add(field, "%s does not exist", key)
		return nil
	}
	return e.lookUp(field, name)
}

// serviceKey is the Service that a DNS name may be that of, and whether it can be nothing else.
func serviceKey(name string) (key objectKey, sure bool) {
	name = strings.TrimSuffix(name, ".")
	for _, domain := range clusterDomains {
		if name, sure = strings.CutSuffix(name, domain); sure {
			break
		}
	}
	service, namespace, two := strings.Cut(name, ".")
	if !two || strings.Contains(namespace, ".") {
		return objectKey{}, false
	}
	return objectKey{KindService, namespace, service}, sure
}

// clusterAddr is the cluster IP of a Service, or what the name resolves to that it stands for.
func (e *edgeTranslation) clusterAddr(field string, o *corev1.Service) []netip.Addr {
	if o.Spec.Type == corev1.ServiceTypeExternalName {
		return e.lookUp(field, strings.ToLower(o.Spec.ExternalName))
	}
	a := clusterIPv4(o)
	if a.IsValid() {
		return []netip.Addr{a}
	}
	what := "has no IPv4 cluster IP"
	if o.Spec.ClusterIP == corev1.ClusterIPNone {
		what = "is headless: it has no address of its own"
	}
	e.add(field, "%s %s", objectKey{KindService, o.Namespace, o.Name}, what)
	return nil
}

// clusterIPv4 is the first IPv4 address among the cluster IPs; invalid when there is none.
func clusterIPv4(o *corev1.Service) netip.Addr {
	texts := o.Spec.ClusterIPs
	if len(texts) == 0 {
		texts = []string{o.Spec.ClusterIP}
	}
	for _, text := range texts {
		if a, err := parseAddr(text); err == nil && a.Is4() {
			return a
		}
	}
	return netip.Addr{}
}

// lookUp is what DNS says of a name.
func (e *edgeTranslation) lookUp(field, name string) []netip.Addr {
	key := objectKey{kindHost, "", name}
	e.look(key)
	h := e.edges.hosts[name]
	switch {
	case h == nil || !h.asked:
		e.add(field, "%s has not been looked up yet", name)
	case len(h.addrs) == 0:
		e.add(field, "%s does not resolve to an IPv4 address", name)
	default:
		return h.addrs
	}
	return nil
}
