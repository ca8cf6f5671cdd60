package tungsten

import (
	"context"
	"strings"

	"github.com/netloom/netloom/pkg/tungsten"
)

// observed is what a controller has: policies and load balancers of the owner, by UUID, and of everyone what those depend on.
type observed struct {
	policies  map[string]*tungsten.Object
	balancers map[string]*tungsten.Object
	ports     *ports
	addresses *addresses
	missing   string  // why there are no load balancers
	strays    []*port // interfaces with tags of the owner that are of no pod of the cluster
}

// observe reads what the owner has, and the interfaces of pods. A fault makes it fail as a whole: what is missing from an
// incomplete list would look like something to sweep or to create.
func (b *Backend) observe(ctx context.Context) (*observed, error) {
	api, names := b.api, b.names
	if err := b.enforces(ctx); err != nil {
		return nil, err
	}
	out := &observed{
		policies: map[string]*tungsten.Object{}, balancers: map[string]*tungsten.Object{}, ports: newPorts(), addresses: newAddresses(),
	}
	for _, kind := range kinds() {
		all, err := api.List(ctx, kind, tungsten.Query{Detail: true})
		if err != nil {
			return nil, unreachable(err)
		}
		for _, o := range all {
			if names.owns(o) {
				out.policies[o.UUID] = o
			}
		}
	}
	for _, kind := range balancerKinds() {
		if b.network == nil && kind != tungsten.KindInterface {
			break
		}
		all, err := api.List(ctx, kind, b.queryOf(kind))
		if err != nil {
			return nil, unreachable(err)
		}
		for _, o := range all {
			b.take(out, o)
		}
	}
	var err error
	out.missing, err = b.lacksNetwork(ctx)
	return out, err
}

// enforces fails if the controller does not answer, or would not enforce what is written.
func (b *Backend) enforces(ctx context.Context) error {
	b.asked = false
	config, err := b.api.List(ctx, tungsten.KindGlobalSystemConfig, tungsten.Query{Fields: []string{"enable_security_policy_draft"}})
	if err != nil {
		return unreachable(err)
	}
	for _, c := range config {
		if c.SecurityPolicyDraft {
			return ErrDraft
		}
	}
	b.asked = true
	return nil
}

// queryOf selects what is read of a kind that load balancers consist of: of interfaces and instance IPs, which pods have as well, only
// what matters.
func (b *Backend) queryOf(kind tungsten.Kind) tungsten.Query {
	switch kind { //nolint:exhaustive // all others are read in full
	case tungsten.KindInterface:
		fields := portFields()
		if b.network != nil {
			fields = append(fields, "virtual_network_refs", "virtual_machine_interface_device_owner")
		}
		return tungsten.Query{Fields: fields}
	case tungsten.KindInstanceIP:
		return tungsten.Query{Fields: append(addressFields(), "annotations")}
	default:
		return tungsten.Query{Detail: true}
	}
}

// take takes what was read of a kind that load balancers consist of.
func (b *Backend) take(into *observed, o *tungsten.Object) {
	if b.names.owns(o) && b.network != nil {
		o.TagRefs = nil // of others
		into.balancers[o.UUID] = o
	}
	switch o.Kind { //nolint:exhaustive // of no others
	case tungsten.KindInterface:
		if p := portOf(b.names, b.clusters, o); p != nil {
			into.ports.put(p)
		} else if p := tagged(b.names, o); len(p.tags) > 0 {
			into.strays = append(into.strays, p)
		}
	case tungsten.KindInstanceIP:
		if a := addressOf(o); a != nil {
			into.addresses.put(a)
		}
	}
}

// lacksNetwork returns why there are no load balancers; "" if the network of Services exists.
func (b *Backend) lacksNetwork(ctx context.Context) (string, error) {
	if b.network == nil {
		return "no network of Services is configured", nil
	}
	name := strings.Join(b.network, ":")
	found, err := b.api.List(ctx, tungsten.KindVirtualNetwork, tungsten.Query{Names: []string{name}})
	if err != nil {
		return "", unreachable(err)
	}
	if len(found) == 0 {
		return "the virtual network " + name + " does not exist", nil
	}
	return "", nil
}
