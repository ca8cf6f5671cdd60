package tungsten

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/tungsten"
)

// shortestUUID is how many leading characters of a UUID are needed to identify an object.
const shortestUUID = 8

// readAll reads all objects of the kinds that the backend writes, of any owner of netloom's. It leaves out the interfaces and addresses
// of load balancers, whose lists contain those of all pods.
func (b *Backend) readAll(ctx context.Context) (map[string]*tungsten.Object, error) {
	out := map[string]*tungsten.Object{}
	read := kinds()
	if b.network != nil {
		read = append(read, tungsten.KindLoadBalancer, tungsten.KindListener, tungsten.KindPool, tungsten.KindMember)
	}
	for _, kind := range read {
		all, err := b.api.List(ctx, kind, tungsten.Query{Detail: true})
		if err != nil {
			return nil, unreachable(err)
		}
		for _, o := range all {
			if o.Annotations.Get(annotationOwner) != "" {
				out[o.UUID] = o
			}
		}
	}
	return out, nil
}

// Trails implements backends.RowTracer. It reads all objects.
func (b *Backend) Trails(ctx context.Context, what string) ([]backends.Trail, error) {
	all, err := b.readAll(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for %s: %w", what, err)
	}
	var out []backends.Trail
	for _, id := range slices.Sorted(maps.Keys(all)) {
		o := all[id]
		if begins := len(what) >= shortestUUID && strings.HasPrefix(id, what); o.Name() != what && !begins {
			continue
		}
		fields, err := tungsten.Diff(&tungsten.Object{Kind: o.Kind}, o)
		if err != nil {
			return nil, err
		}
		row := map[string]any{}
		for name, raw := range fields {
			var value any
			if err := json.Unmarshal(raw, &value); err != nil {
				return nil, fmt.Errorf("decode %s: %w", name, err)
			}
			row[name] = value
		}
		out = append(out, backends.Trail{
			Table: string(o.Kind), UUID: id, Name: o.Name(), Owner: o.Annotations.Get(annotationOwner),
			Title: o.Annotations.Get(annotationFor), Origins: originsOf(o, all), Row: row,
		})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: no object has the name %q, and no UUID begins with it", backends.ErrNoRow, what)
	}
	return out, nil
}

// originsOf lists the source objects of a rule, or of the rules that refer to a tag or an address group.
func originsOf(o *tungsten.Object, all map[string]*tungsten.Object) []string {
	found := map[string]bool{}
	for _, rule := range all {
		if of := rule.Annotations.Get(annotationOrigin); of != "" && (rule == o || refersTo(rule, o)) {
			found[strings.TrimSpace(of+" "+rule.Annotations.Get(annotationRule))] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// refersTo reports whether an end of a rule is a tag or an address group.
func refersTo(rule, o *tungsten.Object) bool {
	for _, e := range []*tungsten.Endpoint{rule.Endpoint1, rule.Endpoint2} {
		if e != nil && (o.Kind == tungsten.KindTag && slices.Contains(e.Tags, global(o.Name())) ||
			o.Kind == tungsten.KindAddressGroup && e.AddressGroup == strings.Join(o.FQName, ":")) {
			return true
		}
	}
	return false
}

// ReadRows implements backends.RowReader. It reads all objects, since tags and address groups are shared.
func (b *Backend) ReadRows(ctx context.Context, of object.Ref) ([]backends.Row, error) {
	all, err := b.readAll(ctx)
	if err != nil {
		return nil, err
	}
	var rows []backends.Row
	var rules []*tungsten.Object
	for _, o := range all {
		if o.Annotations.Get(annotationOrigin) == of.Path() && b.names.owns(o) && o.ActionList != nil {
			rules = append(rules, o)
			rows = append(rows, backends.Row{
				Table: string(o.Kind), Name: o.Name(), UUID: o.UUID, Rule: o.Annotations.Get(annotationRule), Text: textOf(o),
				Action: o.ActionList.SimpleAction,
			})
		}
		if _, balances := balancerName(o); balances && o.Annotations.Get(annotationOrigin) == of.Path() && b.names.owns(o) {
			rows = append(rows, backends.Row{Table: string(o.Kind), Name: o.Name(), UUID: o.UUID, Text: balancingText(o)})
		}
	}
	for _, o := range all {
		if slices.ContainsFunc(rules, func(r *tungsten.Object) bool { return refersTo(r, o) }) {
			rows = append(rows, backends.Row{Table: string(o.Kind), Name: o.Name(), UUID: o.UUID, Text: o.Annotations.Get(annotationFor)})
		}
	}
	slices.SortFunc(rows, func(a, b backends.Row) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), strings.Compare(a.Rule, b.Rule), strings.Compare(a.Text, b.Text),
			strings.Compare(a.Name, b.Name))
	})
	return rows, nil
}

// balancingText describes an object of a load balancer.
func balancingText(o *tungsten.Object) string {
	switch {
	case o.LoadBalancerProperties != nil:
		return o.LoadBalancerProperties.VIPAddress
	case o.ListenerProperties != nil:
		return fmt.Sprintf("%s %d", o.ListenerProperties.Protocol, o.ListenerProperties.ProtocolPort)
	case o.PoolProperties != nil:
		return o.PoolProperties.Method
	case o.MemberProperties != nil:
		return fmt.Sprintf("port %d of interface %s", o.MemberProperties.ProtocolPort, o.Annotations.Get(memberInterface))
	default:
		return ""
	}
}

// textOf describes what a rule matches, by the names of what it refers to.
func textOf(rule *tungsten.Object) string {
	end := func(e *tungsten.Endpoint) string {
		switch {
		case e == nil || e.Any:
			return "any"
		case e.AddressGroup != "":
			return e.AddressGroup
		default:
			return strings.Join(e.Tags, " and ")
		}
	}
	text := end(rule.Endpoint1) + " > " + end(rule.Endpoint2)
	if s := rule.Service; s != nil && s.DstPorts != nil {
		text += fmt.Sprintf(" %s %d-%d", s.Protocol, s.DstPorts.Start, s.DstPorts.End)
	}
	return text
}
