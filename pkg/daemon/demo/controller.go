package demo

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/backends/tungsten"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/pkg/simulator/vrouter"
	api "github.com/netloom/netloom/pkg/tungsten"
)

// demoOwner is the owner of what the demo writes.
const demoOwner = "netloom-demo"

// runController shows the demo with a simulated Tungsten Fabric controller.
func runController(ctx context.Context, opts Options, dir string, w io.Writer, log logrus.FieldLogger) error {
	d, err := daemon.New(daemon.Options{
		Manifests: dir,
		Target: builtin.Settings{Owner: demoOwner, Tungsten: tungsten.Settings{
			Servers: []string{tungsten.Embedded}, ClusterName: tungsten.DefaultCluster,
		}},
		Reconcile:   reconcile.Options{MaxDeleteFraction: 1, MaxInterval: reconcile.DefaultMaxInterval},
		DebugListen: opts.Listen,
		UIListen:    opts.UIListen,
	}, log)
	if err != nil {
		return err
	}
	defer d.Close()
	client, err := api.New(api.Options{URLs: d.ControllerURLs(), Log: log})
	if err != nil {
		return err
	}
	defer client.Close()
	s := &show{
		w: w, color: opts.Color, dir: dir, daemon: d, target: builtin.Tungsten, changes: make(chan change, 16),
		published: make(chan struct{}, 1), synced: make(chan struct{}, 1),
	}
	d.Observe(s)
	d.OnPublish(func(pipeline.Published) { s.publish() })
	return run(ctx, []func(context.Context) error{d.Run}, func(ctx context.Context) error { return s.playController(ctx, client, opts.Once) })
}

// playController prints the first state of a controller and then every change.
func (s *show) playController(ctx context.Context, client *api.Client, once bool) error {
	first, err := s.firstPlan(ctx, once)
	if err != nil {
		return err
	}
	s.printf("%s\n%s\n\n", s.bold("Written: "+first.plan.Summary()), s.daemon.Pipeline().Stats())
	objects, err := readObjects(ctx, client)
	if err != nil {
		return err
	}
	s.printTags(objects)
	s.printRules(objects)
	s.printBalancers(objects, first.plan.Skips)
	wrong, err := s.printVerdicts(objects)
	if err != nil {
		return err
	}
	s.printProblems()
	if once {
		if wrong > 0 {
			return fmt.Errorf("%d probes were not answered as expected", wrong)
		}
		return nil
	}
	s.printf("\n%s Edit a file in %s and see its objects change. Press Ctrl-C to stop.\n", s.bold("Watching."), absolute(s.dir))
	s.printPage()
	s.printf("The controller: curl '%s/firewall-rules?detail=true'\n", s.daemon.ControllerURLs()[0])
	return s.follow(ctx)
}

// readObjects reads everything that the verdicts of the data plane depend on.
func readObjects(ctx context.Context, client *api.Client) ([]*api.Object, error) {
	var out []*api.Object
	for _, kind := range []api.Kind{
		api.KindTagType, api.KindTag, api.KindAddressGroup, api.KindServiceGroup, api.KindFirewallRule, api.KindFirewallPolicy,
		api.KindApplicationPolicySet, api.KindProject, api.KindVirtualNetwork, api.KindVirtualMachine, api.KindInterface, api.KindInstanceIP, api.KindFloatingIP,
	} {
		all, err := client.List(ctx, kind, api.Query{Detail: true})
		if err != nil {
			return nil, err
		}
		out = append(out, all...)
	}
	return out, nil
}

// ofKind lists the objects of a kind by name.
func ofKind(objects []*api.Object, kind api.Kind) []*api.Object {
	out := slices.DeleteFunc(slices.Clone(objects), func(o *api.Object) bool { return o.Kind != kind })
	slices.SortFunc(out, func(a, b *api.Object) int { return cmp.Compare(a.Name(), b.Name()) })
	return out
}

// hashLength is the number of digits of the hash at the end of a name.
const hashLength = 32

// shortTag removes what is the same in all names of the demo, and shortens the hash at the end.
func shortTag(name string) string {
	name = strings.TrimPrefix(name, "global:")
	name = strings.TrimPrefix(strings.Replace(name, "netloom."+demoOwner+".", "", 1), "label=")
	if at := strings.LastIndex(name, ".") + 1; len(name)-at == hashLength {
		name = name[:at+hashDigits]
	}
	return name
}

// printTags prints what each tag stands for and the pods that have it, and the address groups.
func (s *show) printTags(objects []*api.Object) {
	pods := make(map[string][]string) // by UUID of the tag
	for _, o := range ofKind(objects, api.KindInterface) {
		for _, ref := range o.TagRefs {
			pods[ref.UUID] = append(pods[ref.UUID], o.Annotations.Get("namespace")+"/"+o.Annotations.Get("name"))
		}
	}
	tags := ofKind(objects, api.KindTag)
	s.table("Tags", "TAG\tMARKS\tPODS", len(tags), func(row func(...any)) {
		for _, o := range tags {
			row(shortTag(o.Name()), cmp.Or(o.Annotations.Get("netloom.io/for"), "-"), list(pods[o.UUID]))
		}
	})
	groups := ofKind(objects, api.KindAddressGroup)
	s.table("Address groups", "NAME\tHOLDS\tPREFIXES", len(groups), func(row func(...any)) {
		for _, o := range groups {
			row(shortTag(o.Name()), cmp.Or(o.Annotations.Get("netloom.io/for"), "-"), list(prefixes(o)))
		}
	})
}

func prefixes(o *api.Object) []string {
	var out []string
	if o.AddressGroupPrefix == nil {
		return nil
	}
	for _, p := range o.AddressGroupPrefix.Subnet {
		out = append(out, fmt.Sprintf("%s/%d", p.IPPrefix, p.IPPrefixLen))
	}
	return out
}

// printRules prints the rules of each firewall policy.
func (s *show) printRules(objects []*api.Object) {
	rules := make(map[string]*api.Object)
	for _, o := range ofKind(objects, api.KindFirewallRule) {
		rules[o.UUID] = o
	}
	s.table("Firewall rules", "POLICY\tFROM\tTO\tSERVICE\tACTION\tORIGIN", len(rules), func(row func(...any)) {
		for _, policy := range ofKind(objects, api.KindFirewallPolicy) {
			refs := slices.SortedFunc(slices.Values(policy.FirewallRuleRefs), func(a, b api.Ref) int { return cmp.Compare(a.Sequence(), b.Sequence()) })
			for _, ref := range refs {
				o := rules[ref.UUID]
				if o == nil || o.Service == nil || o.ActionList == nil {
					continue
				}
				row(strings.TrimPrefix(policy.Name(), "netloom."+demoOwner+"."), endText(o.Endpoint1), endText(o.Endpoint2), serviceText(o.Service),
					o.ActionList.SimpleAction, strings.TrimSpace(o.Annotations.Get("netloom.io/origin")+" "+o.Annotations.Get("netloom.io/rule")))
			}
		}
	})
}

func endText(e *api.Endpoint) string {
	switch {
	case e == nil || e.Any:
		return "any"
	case len(e.Tags) > 0:
		texts := make([]string, len(e.Tags))
		for i, t := range e.Tags {
			texts[i] = shortTag(t)
		}
		return strings.Join(texts, " and ")
	case e.AddressGroup != "":
		return shortTag(e.AddressGroup[strings.LastIndex(e.AddressGroup, ":")+1:])
	case e.Subnet != nil:
		return fmt.Sprintf("%s/%d", e.Subnet.IPPrefix, e.Subnet.IPPrefixLen)
	default:
		return "any"
	}
}

func serviceText(s *api.Service) string {
	p := s.DstPorts
	switch {
	case p == nil || p.Start <= 0 && p.End == 65535:
		return s.Protocol
	case p.Start == p.End:
		return fmt.Sprintf("%s/%d", s.Protocol, p.Start)
	default:
		return fmt.Sprintf("%s/%d-%d", s.Protocol, p.Start, p.End)
	}
}

// printBalancers prints the addresses of Services that are served, and the reasons why others are not.
func (s *show) printBalancers(objects []*api.Object, skips []backends.Skip) {
	pods, parents := make(map[string]string), make(map[string]*api.Object)
	for _, o := range ofKind(objects, api.KindInterface) {
		pods[o.UUID] = o.Annotations.Get("namespace") + "/" + o.Annotations.Get("name")
	}
	for _, o := range ofKind(objects, api.KindInstanceIP) {
		parents[o.UUID] = o
	}
	fips := ofKind(objects, api.KindFloatingIP)
	s.table("Load balancers", "ADDRESS\tPORTS\tENDPOINTS\tORIGIN", len(fips), func(row func(...any)) {
		for _, o := range fips {
			var ports, endpoints []string
			if o.FloatingIPPortMappings != nil {
				for _, m := range o.FloatingIPPortMappings.PortMappings {
					ports = append(ports, fmt.Sprintf("%s %d to %d", strings.ToLower(m.Protocol), m.SrcPort, m.DstPort))
				}
			}
			for _, ref := range o.InterfaceRefs {
				endpoints = append(endpoints, pods[ref.UUID])
			}
			origin := ""
			if parent := parents[o.ParentUUID]; parent != nil {
				origin = parent.Annotations.Get("netloom.io/origin")
			}
			row(o.FloatingIPAddress, list(ports), list(endpoints), origin)
		}
	})
	var unserved []backends.Skip
	for _, skip := range skips {
		if strings.HasPrefix(skip.Intent, object.KindService+"/") {
			unserved = append(unserved, skip)
		}
	}
	s.table("Not served", "SERVICE\tREASON", len(unserved), func(row func(...any)) {
		for _, skip := range unserved {
			row(skip.Intent, skip.Reason)
		}
	})
}

// printVerdicts answers the probes by the model of the data plane and counts the unexpected results.
func (s *show) printVerdicts(objects []*api.Object) (wrong int, err error) {
	probes, err := readProbes(s.dir, probesFile)
	if err != nil || len(probes) == 0 {
		return 0, err
	}
	network, origins := vrouter.New(objects), make(map[string]string)
	for _, o := range ofKind(objects, api.KindFirewallRule) {
		origins[o.Name()] = o.Annotations.Get("netloom.io/origin")
	}
	s.printf("%s\n", s.bold("Can A reach B? Answered from the objects above"))
	for _, p := range probes {
		from, to, err := s.addrs(p)
		if err != nil {
			return wrong, fmt.Errorf("probe %q: %w", p.text, err)
		}
		verdict, answered := judge(network, vrouter.Packet{
			Src: vrouter.Party{Addr: from}, Dst: vrouter.Party{Addr: to}, Protocol: uint8(p.protocol), SourcePort: 40000, Port: p.port,
		}, strings.HasPrefix(p.dst, "svc/"))
		if !answered {
			s.printf("  %-6s %-58s %s\n", "-", p.text, "not served, see above")
			continue
		}
		got := deny
		if verdict.Allowed {
			got = allow
		}
		wrong += s.printAnswer(p, got, decidedBy(verdict, origins))
	}
	return wrong, nil
}

// judge decides on a packet, for a Service by all of its endpoints wherever they run; false if the Service is not served.
func judge(network *vrouter.Network, k vrouter.Packet, service bool) (v vrouter.Verdict, answered bool) {
	choices, served := network.Balance(k)
	if !served {
		return network.Verdict(k), !service
	}
	v.Allowed = true
	for _, c := range choices {
		v.Allowed = v.Allowed && c.Apart.Allowed && c.Together.Allowed
		v.By = slices.Concat(v.By, c.Apart.By, c.Together.By)
	}
	return v, true
}

// decidedBy names the objects whose rules decided, or the rules that belong to none.
func decidedBy(v vrouter.Verdict, origins map[string]string) string {
	var names []string
	for _, name := range v.By {
		if text := cmp.Or(origins[name], shortTag(name)); text != "" && !slices.Contains(names, text) {
			names = append(names, text)
		}
	}
	return strings.Join(names, ", ")
}

// addrs returns the addresses of both ends of a probe, in a family that both have.
func (s *show) addrs(p probeLine) (from, to netip.Addr, err error) {
	packet, err := s.packet(p)
	return packet.Src, packet.Dst, err
}
