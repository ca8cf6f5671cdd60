package oracle_test

import (
	"strings"
	"testing"

	"github.com/netloom/netloom/test/oracle"
)

// row is one clause of the API: policies by "namespace/name", a change to the cluster, and the result.
type row struct {
	name     string
	policies map[string]string
	change   func(t *testing.T, c *oracle.Cluster)
	want     string // probes, one a line
}

func run(t *testing.T, rows []row) {
	t.Helper()
	for _, tc := range rows {
		t.Run(tc.name, func(t *testing.T) {
			c := base(t)
			for id, spec := range tc.policies {
				c.Policies = append(c.Policies, policy(t, id, spec))
			}
			if tc.change != nil {
				tc.change(t, c)
			}
			for line := range strings.SplitSeq(strings.TrimSpace(tc.want), "\n") {
				probe(t, c, line)
			}
		})
	}
}

func TestIsolation(t *testing.T) {
	run(t, []row{
		{name: "00 without policies everything is allowed", want: `
			red/a blue/c tcp/80 allow
			192.0.2.1 red/a icmp/ allow
			red/a 192.0.2.1 sctp/9 allow`},
		{name: "01 isolation is per direction and per pod", policies: map[string]string{
			"red/p": `{podSelector: {matchLabels: {app: s}}, policyTypes: [Egress]}`,
		}, want: `
			red/a red/s1 tcp/80 allow
			red/s1 red/a tcp/80 egress
			red/s1 192.0.2.1 icmp/ egress
			red/b red/a tcp/80 allow`},
		{name: "02 empty policyTypes means ingress, and egress only when there are egress rules", policies: map[string]string{
			"red/p":  `{podSelector: {matchLabels: {app: b}}, egress: [{}]}`,
			"blue/p": `{podSelector: {matchLabels: {app: c}}, ingress: [{}]}`,
			"blue/q": `{podSelector: {matchLabels: {app: a}}, egress: [{to: [{podSelector: {}}]}]}`,
		}, want: `
			red/a red/b tcp/80 ingress
			red/b red/a tcp/80 allow
			blue/c red/a tcp/80 allow
			blue/a red/a tcp/80 egress
			blue/a blue/c tcp/80 allow`},
		{name: "03 sections outside policyTypes are ignored", policies: map[string]string{
			"red/p": `{podSelector: {}, policyTypes: [Egress], ingress: [{from: [{podSelector: {}}]}], egress: [{}]}`,
			"red/q": `{podSelector: {}, policyTypes: [Egress], ingress: [{}]}`,
		}, want: `
			blue/a red/a tcp/80 allow
			red/a blue/a tcp/80 allow`},
		{name: "04 policies add up, in any order", policies: map[string]string{
			"red/deny":  `{podSelector: {}}`,
			"red/allow": `{podSelector: {matchLabels: {app: a}}, ingress: [{from: [{podSelector: {matchLabels: {app: b}}}]}]}`,
			"red/more":  `{podSelector: {matchLabels: {app: a}}, ingress: [{ports: [{port: 443}]}]}`,
		}, want: `
			red/b red/a tcp/80 allow
			red/s1 red/a tcp/80 ingress
			blue/c red/a tcp/443 allow
			red/a red/b tcp/443 ingress`},
		{name: "05 both ends decide", policies: map[string]string{
			"red/e":  `{podSelector: {matchLabels: {app: a}}, policyTypes: [Egress], egress: [{ports: [{port: 80}]}]}`,
			"blue/i": `{podSelector: {}, ingress: [{ports: [{port: 80}, {port: 81}]}]}`,
		}, want: `
			red/a blue/c tcp/80 allow
			red/a blue/c tcp/81 egress
			red/b blue/c tcp/82 ingress
			red/a blue/c tcp/82 deny`},
		{name: "06 no rules allow nothing, an empty rule allows everything", policies: map[string]string{
			"red/none":  `{podSelector: {matchLabels: {app: a}}, ingress: []}`,
			"red/all":   `{podSelector: {matchLabels: {app: b}}, ingress: [{}]}`,
			"red/lists": `{podSelector: {matchLabels: {app: s}}, ingress: [{from: [], ports: []}]}`,
		}, want: `
			red/b red/a tcp/80 ingress
			192.0.2.1 red/a icmp/ ingress
			192.0.2.1 red/b icmp/ allow
			10.0.1.2 red/s1 sctp/7 allow
			blue/a red/s1/6 udp/7 allow`},
		{name: "07 one of two isolating policies is enough", policies: map[string]string{
			"red/one": `{podSelector: {}}`, "red/two": `{podSelector: {}}`,
		}, change: func(_ *testing.T, c *oracle.Cluster) { c.Policies = c.Policies[:1] }, want: `
			blue/a red/a tcp/80 ingress`},
		{name: "08 a selector without a match selects and admits no pod", policies: map[string]string{
			"red/subject": `{podSelector: {matchLabels: {app: none}}}`,
			"blue/peer":   `{podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {app: none}}}]}]}`,
		}, want: `
			blue/a red/a tcp/80 allow
			red/a blue/a tcp/80 ingress
			blue/c blue/a tcp/80 ingress`},
	})
}

func TestPeers(t *testing.T) {
	run(t, []row{
		{name: "09 selectors of one peer are ANDed, peers are ORed", policies: map[string]string{
			"red/own":   `{podSelector: {matchLabels: {app: b}}, ingress: [{from: [{podSelector: {matchLabels: {app: a}}}]}]}`,
			"red/both":  `{podSelector: {matchLabels: {app: s}}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: blue}}, podSelector: {matchLabels: {app: a}}}]}]}`,
			"red/split": `{podSelector: {matchLabels: {app: a}}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: blue}}}, {podSelector: {matchLabels: {app: b}}}]}]}`,
		}, want: `
			red/a red/b tcp/80 allow
			blue/a red/b tcp/80 ingress
			blue/a red/s1 tcp/80 allow
			blue/c red/s1 tcp/80 ingress
			red/a red/s1 tcp/80 ingress
			blue/c red/a tcp/80 allow
			red/b red/a tcp/80 allow
			red/s1 red/a tcp/80 ingress`},
		{name: "10 namespaceSelector {} is every pod, from [] is every source", policies: map[string]string{
			"red/pods": `{podSelector: {matchLabels: {app: b}}, ingress: [{from: [{namespaceSelector: {}}]}]}`,
			"red/all":  `{podSelector: {matchLabels: {app: s}}, ingress: [{from: []}]}`,
		}, want: `
			blue/a red/b tcp/80 allow
			192.0.2.1 red/b tcp/80 ingress
			10.0.1.1 red/b tcp/80 ingress
			192.0.2.1 red/s1 tcp/80 allow`},
		{name: "11 NotIn and DoesNotExist match without the key, an empty value needs the key", policies: map[string]string{
			"red/notin":  `{podSelector: {matchLabels: {app: a}}, ingress: [{from: [{podSelector: {matchExpressions: [{key: empty, operator: NotIn, values: [x]}]}}]}]}`,
			"red/absent": `{podSelector: {matchLabels: {app: b}}, ingress: [{from: [{podSelector: {matchExpressions: [{key: tier, operator: DoesNotExist}]}}]}]}`,
			"red/empty":  `{podSelector: {matchLabels: {app: s}}, ingress: [{from: [{podSelector: {matchLabels: {empty: ""}}}]}]}`,
			"blue/ops":   `{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchExpressions: [{key: team, operator: Exists}, {key: empty, operator: DoesNotExist}]}, podSelector: {matchExpressions: [{key: app, operator: In, values: [s, b]}]}}]}]}`,
		}, want: `
			red/s1 red/a tcp/80 allow
			red/b red/a tcp/80 allow
			red/s1 red/b tcp/80 allow
			red/a red/b tcp/80 ingress
			red/b red/s1 tcp/80 allow
			red/a red/s1 tcp/80 ingress
			red/b blue/a tcp/80 allow
			red/a blue/a tcp/80 ingress
			blue/c blue/a tcp/80 ingress`},
		{name: "12 a peer without selectors matches nothing, namespaceSelector alone all its pods", policies: map[string]string{
			"red/nobody": `{podSelector: {matchLabels: {app: a}}, ingress: [{from: [{}]}]}`,
			"red/ns":     `{podSelector: {matchLabels: {app: b}}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: blue}}}]}]}`,
		}, want: `
			red/b red/a tcp/80 ingress
			blue/a red/b tcp/80 allow
			blue/c red/b tcp/80 allow`},
		{name: "13 every namespace carries its name as a label", policies: map[string]string{
			"red/p": `{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: blue}}}]}]}`,
		}, want: `
			blue/a red/a tcp/80 allow
			red/b red/a tcp/80 ingress`},
		{name: "14 ports and peers belong together inside one rule", policies: map[string]string{
			"red/p": `{podSelector: {matchLabels: {app: s}}, ingress: [{from: [{podSelector: {matchLabels: {app: a}}}], ports: [{port: 80}]}, {from: [{podSelector: {matchLabels: {app: b}}}], ports: [{port: 443}]}]}`,
		}, want: `
			red/a red/s1 tcp/80 allow
			red/a red/s1 tcp/443 ingress
			red/b red/s1 tcp/443 allow
			red/b red/s1 tcp/80 ingress`},
		{name: "a malformed peer or requirement admits nothing", policies: map[string]string{
			"red/a": `{podSelector: {matchLabels: {app: a}}, ingress: [{from: [{ipBlock: {cidr: 0.0.0.0/0}, podSelector: {}}]}]}`,
			"red/b": `{podSelector: {matchLabels: {app: b}}, ingress: [{from: [{podSelector: {matchExpressions: [{key: app, operator: Near, values: [a]}]}}]}]}`,
			"red/s": `{podSelector: {matchLabels: {app: s}}, ingress: [{from: [{podSelector: {matchExpressions: [{key: app, operator: NotIn}]}}]}]}`,
		}, want: `
			red/b red/a tcp/80 ingress
			red/a red/b tcp/80 ingress
			red/a red/s1 tcp/80 ingress`},
		{name: "a namespace that does not exist is selected by no namespaceSelector", policies: map[string]string{
			"red/p": `{podSelector: {}, ingress: [{from: [{namespaceSelector: {}}]}]}`,
		}, change: func(_ *testing.T, c *oracle.Cluster) { c.Namespaces = c.Namespaces[:1] }, want: `
			blue/a red/a tcp/80 ingress
			red/b red/a tcp/80 allow`},
	})
}

func TestIPBlock(t *testing.T) {
	run(t, []row{
		{name: "15 except narrows only its own block", policies: map[string]string{
			"red/p1": `{podSelector: {matchLabels: {app: a}}, ingress: [{from: [{ipBlock: {cidr: 10.244.0.0/16, except: [10.244.1.0/24]}}]}]}`,
			"red/p2": `{podSelector: {matchLabels: {app: a}}, ingress: [{from: [{ipBlock: {cidr: 10.244.1.20/32}}]}]}`,
			"red/p3": `{podSelector: {matchLabels: {app: b}}, ingress: [{from: [{ipBlock: {cidr: 10.244.0.0/16, except: [10.244.1.0/24]}}, {podSelector: {matchLabels: {app: s}}}]}]}`,
		}, want: `
			blue/a red/a tcp/80 allow
			red/s1 red/a tcp/80 ingress
			red/b red/a tcp/80 allow
			red/s1 red/b tcp/80 allow
			red/a red/b tcp/80 ingress`},
		{name: "16 a block admits pods too", policies: map[string]string{
			"red/p": `{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 0.0.0.0/0}}]}]}`,
		}, want: `
			blue/a red/a tcp/80 allow
			192.0.2.1 red/a tcp/80 allow`},
		{name: "17 families are separate", policies: map[string]string{
			"red/p": `{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 0.0.0.0/0}}]}]}`,
		}, want: `
			blue/a/6 red/a/6 tcp/80 ingress
			2001:db8::1 red/a/6 icmp/ ingress`},
		{name: "18 excepts overlap, nest and cover", policies: map[string]string{
			"red/nest":  `{podSelector: {matchLabels: {app: a}}, ingress: [{from: [{ipBlock: {cidr: 10.244.0.0/16, except: [10.244.1.0/24, 10.244.1.20/32, 10.244.0.0/23]}}]}]}`,
			"red/cover": `{podSelector: {matchLabels: {app: b}}, ingress: [{from: [{ipBlock: {cidr: 10.244.0.0/16, except: [10.244.0.0/17, 10.244.128.0/17]}}, {ipBlock: {cidr: 192.0.2.0/24, except: [192.0.0.0/8]}}]}]}`,
		}, want: `
			red/b red/a tcp/80 ingress
			blue/a red/a tcp/80 allow
			blue/a red/b tcp/80 ingress
			192.0.2.1 red/b tcp/80 ingress
			10.245.0.1 red/b tcp/80 ingress`},
		{name: "19 host bits, leading zeros and odd spellings are understood", policies: map[string]string{
			"red/v4":   `{podSelector: {matchLabels: {app: a}}, ingress: [{from: [{ipBlock: {cidr: 10.244.1.99/24, except: [10.244.1.83/31]}}]}]}`,
			"red/v6":   `{podSelector: {matchLabels: {app: b}}, ingress: [{from: [{ipBlock: {cidr: "FD00:0010::5/64"}}]}]}`,
			"red/zero": `{podSelector: {matchLabels: {app: s}}, ingress: [{from: [{ipBlock: {cidr: 010.244.002.000/24}}]}]}`,
		}, want: `
			red/s1 red/a tcp/80 allow
			red/s2 red/a tcp/80 ingress
			blue/a red/a tcp/80 ingress
			red/a/6 red/b/6 tcp/80 allow
			blue/a/6 red/b/6 tcp/80 ingress
			blue/a red/s1 tcp/80 allow
			red/a red/s1 tcp/80 ingress`},
		{name: "a block that cannot be read admits nothing", policies: map[string]string{
			"red/cidr":   `{podSelector: {matchLabels: {app: a}}, ingress: [{from: [{ipBlock: {cidr: 10.244.0.0}}]}]}`,
			"red/except": `{podSelector: {matchLabels: {app: b}}, ingress: [{from: [{ipBlock: {cidr: 0.0.0.0/0, except: [nonsense]}}]}]}`,
		}, want: `
			blue/a red/a tcp/80 ingress
			blue/a red/b tcp/80 ingress`},
		{name: "except of the other family changes nothing", policies: map[string]string{
			"red/p": `{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 0.0.0.0/0, except: ["::/0"]}}]}]}`,
		}, want: `
			blue/a red/a tcp/80 allow`},
	})
}
