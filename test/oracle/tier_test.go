package oracle_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/test/oracle"
)

// addTiered adds "KIND NAME" with the YAML of its spec. Tabs are two spaces.
func addTiered(t *testing.T, c *oracle.Cluster, id, spec string) {
	t.Helper()
	kind, name, _ := strings.Cut(id, " ")
	meta := metav1.ObjectMeta{Name: name}
	read := func(to any) {
		require.NoError(t, yaml.UnmarshalStrict([]byte(strings.ReplaceAll(spec, "\t", "  ")), to), id)
	}
	switch kind {
	case "cnp":
		p := &v1alpha2.ClusterNetworkPolicy{ObjectMeta: meta}
		read(&p.Spec)
		c.ClusterPolicies = append(c.ClusterPolicies, p)
	case "anp":
		p := &v1alpha1.AdminNetworkPolicy{ObjectMeta: meta}
		read(&p.Spec)
		c.AdminPolicies = append(c.AdminPolicies, p)
	case "banp":
		p := &v1alpha1.BaselineAdminNetworkPolicy{ObjectMeta: meta}
		read(&p.Spec)
		c.BaselinePolicies = append(c.BaselinePolicies, p)
	default:
		ns, name, _ := strings.Cut(name, "/")
		c.Policies = append(c.Policies, policy(t, ns+"/"+name, strings.ReplaceAll(spec, "\t", "  ")))
	}
}

const (
	ofRed     = "{namespaces: {matchLabels: {team: red}}}"
	adminRed  = "{tier: Admin, priority: 10, subject: " + ofRed + ", "
	baseRed   = "{tier: Baseline, priority: 10, subject: " + ofRed + ", "
	toBlue    = "to: [{namespaces: {matchLabels: {team: blue}}}]"
	anyone    = "from: [{namespaces: {}}]"
	isolation = "{podSelector: {}, policyTypes: [Ingress, Egress]}"
)

// TestTiers follows the type documentation of the cluster-wide kinds, sentence by sentence.
func TestTiers(t *testing.T) {
	for _, tc := range []struct {
		name     string
		policies [][2]string
		probes   []string
	}{
		{"an admin deny cannot be overridden", [][2]string{
			{"cnp x", adminRed + "egress: [{action: Deny, " + toBlue + "}]}"},
			{"np red/open", "{podSelector: {}, policyTypes: [Egress], egress: [{}]}"},
		}, []string{"red/a blue/c tcp/80 egress", "red/a/6 blue/c/6 icmp egress", "red/a red/b tcp/80 allow", "blue/a blue/c tcp/80 allow"}},
		{"an admin accept overrides isolation in its direction only", [][2]string{
			{"cnp x", adminRed + "egress: [{action: Accept, " + toBlue + "}]}"},
			{"np red/closed", isolation},
			{"np blue/closed", isolation},
		}, []string{"red/a blue/c tcp/80 ingress", "red/a red/b tcp/80 deny"}},
		{"pass leaves the tier: to NetworkPolicies, then to the baseline", [][2]string{
			{"cnp a", "{tier: Admin, priority: 1, subject: {namespaces: {}}, ingress: [{action: Pass, " + anyone + "}, {action: Deny, " + anyone + "}]}"},
			{"cnp b", "{tier: Admin, priority: 2, subject: {namespaces: {}}, ingress: [{action: Deny, " + anyone + "}]}"},
			{"np red/open", "{podSelector: {}, policyTypes: [Ingress], ingress: [{}]}"},
			{"cnp base", "{tier: Baseline, priority: 0, subject: {namespaces: {}}, ingress: [{action: Deny, " + anyone + "}]}"},
		}, []string{"blue/a red/a tcp/80 allow", "red/a blue/a tcp/80 ingress", "192.0.2.1 blue/a tcp/80 allow"}},
		{"NetworkPolicies decide for the pods that they isolate, before the baseline", [][2]string{
			{"np red/closed", "{podSelector: {matchLabels: {app: a}}, policyTypes: [Ingress]}"},
			{"cnp base", baseRed + "ingress: [{action: Accept, " + anyone + "}]}"},
		}, []string{"blue/a red/a tcp/80 ingress", "blue/a red/b tcp/80 allow"}},
		{"lower priorities come first, equal ones by name and kind", [][2]string{
			{"cnp b", "{tier: Admin, priority: 5, subject: {namespaces: {}}, ingress: [{action: Deny, from: [{namespaces: {}}], protocols: [{tcp: {destinationPort: {number: 1}}}]}]}"},
			{"cnp a", adminRed + "ingress: [{action: Accept, " + anyone + "}]}"},
			{"anp a", "{priority: 10, subject: {namespaces: {}}, ingress: [{action: Deny, " + anyone + ", ports: [{portNumber: {protocol: TCP, port: 2}}]}]}"},
			{"cnp 0", adminRed + "ingress: [{action: Deny, " + anyone + ", protocols: [{tcp: {destinationPort: {number: 3}}}]}]}"},
		}, []string{
			"blue/a red/a tcp/1 ingress", "blue/a red/a tcp/2 ingress", "blue/a red/a tcp/3 ingress", "blue/a red/a tcp/4 allow",
			"blue/a red/a udp/1 allow",
		}},
		{"a BaselineAdminNetworkPolicy comes after all", [][2]string{
			{"banp default", "{subject: {namespaces: {}}, ingress: [{action: Deny, " + anyone + "}]}"},
			{"cnp z", "{tier: Baseline, priority: 1000, subject: " + ofRed + ", ingress: [{action: Pass, " + anyone + "}]}"},
		}, []string{"blue/a red/a tcp/80 allow", "red/a blue/a tcp/80 ingress"}},
		{"host-network pods are neither subjects nor pods, their node is matched by its addresses", [][2]string{
			{"cnp x", "{tier: Admin, priority: 0, subject: {namespaces: {}}, ingress: [{action: Deny, " + anyone + "}], " +
				"egress: [{action: Deny, to: [{nodes: {}}], protocols: [{tcp: {destinationPort: {number: 10250}}}]}]}"},
		}, []string{"10.0.1.1 red/b tcp/80 allow", "red/b 10.0.1.1 tcp/10250 egress", "red/b 10.0.1.1 tcp/80 allow", "10.0.1.1 10.0.1.2 tcp/10250 allow"}},
		{"a pod's own node is admitted", [][2]string{
			{"cnp x", "{tier: Admin, subject: {namespaces: {}}, priority: 0, ingress: [{action: Deny, from: [{}]}]}"},
		}, []string{"10.0.1.1 red/a tcp/80 allow", "10.0.1.1 red/b tcp/80 ingress"}},
		{"networks match pods too", [][2]string{
			{"cnp x", adminRed + "egress: [{action: Deny, to: [{networks: [10.244.2.0/24]}]}]}"},
		}, []string{"red/a blue/c tcp/80 egress", "red/a/6 blue/c/6 tcp/80 allow"}},
		{"names of ports are those of the destination, of any protocol", [][2]string{
			{"cnp in", adminRed + "ingress: [{action: Deny, " + anyone + ", protocols: [{destinationNamedPort: web}]}]}"},
			{"anp out", "{priority: 0, subject: {namespaces: {matchLabels: {team: blue}}}, egress: [{action: Deny, to: [{namespaces: {}}], ports: [{namedPort: dns}]}]}"},
		}, []string{"blue/a red/s1 tcp/80 ingress", "blue/a red/s2 tcp/8080 ingress", "blue/a red/s2 tcp/80 allow", "blue/a red/s2 udp/53 egress", "red/a red/s2 udp/53 allow"}},
		{"what cannot be read in a rule that accepts matches nothing", [][2]string{
			{"cnp x", adminRed + "ingress: [{action: Accept, from: [{}, {namespaces: {}}]}, {action: Accept, " + anyone + ", protocols: [{tcp: {}}]}, " +
				"{action: Accept, " + anyone + ", protocols: []}, {action: Accept, from: []}]}"},
			{"np red/closed", isolation},
		}, []string{"blue/a red/a tcp/80 ingress"}},
		{"what cannot be read in a rule that denies or passes denies everything", [][2]string{
			{"cnp x", adminRed + "ingress: [{action: Pass, from: [{namespaces: {}, pods: {namespaceSelector: {}, podSelector: {}}}]}], " +
				"egress: [{action: Deny, to: [{networks: [10.0.0.0/40]}]}]}"},
		}, []string{"192.0.2.1 red/a icmp ingress", "red/a 192.0.2.1 udp/53 egress", "blue/a 192.0.2.1 udp/53 allow"}},
		{"an unknown action denies everything, in each kind", [][2]string{
			{"cnp x", adminRed + "ingress: [{action: Allow, from: [{namespaces: {matchLabels: {no: pod}}}]}]}"},
			{"banp default", "{subject: {namespaces: {matchLabels: {team: blue}}}, ingress: [{action: Pass, " + anyone + "}]}"},
		}, []string{"192.0.2.1 red/a icmp ingress", "192.0.2.1 blue/a icmp ingress"}},
		{"a subject or tier that cannot be read is any pod, for what is denied", [][2]string{
			{"cnp x", "{tier: Admin, priority: 0, subject: {}, ingress: [{action: Pass, from: [{pods: {namespaceSelector: {}, podSelector: {matchLabels: {app: c}}}}]}]}"},
			{"cnp y", "{tier: Platform, priority: 0, subject: {namespaces: {}}, egress: [{action: Accept, to: [{networks: [0.0.0.0/0]}]}]}"},
			{"np red/closed", isolation},
		}, []string{"blue/c blue/a tcp/80 ingress", "red/a 192.0.2.1 tcp/80 egress", "red/a blue/a tcp/80 egress"}},
		{"domain names are what DNS answers, for rules that accept", [][2]string{
			{"cnp x", adminRed + "egress: [{action: Accept, to: [{domainNames: [DB.example.com., '*.example.com', gone.example.com]}]}]}"},
			{"anp y", "{priority: 20, subject: " + ofRed + ", egress: [{action: Pass, to: [{domainNames: [db.example.com]}]}]}"},
		}, []string{"red/a 203.0.113.7 tcp/80 allow", "red/a 203.0.113.8 tcp/80 egress"}},
		{"a direction without rules is not affected", [][2]string{
			{"cnp x", adminRed + "egress: [{action: Accept, " + toBlue + "}], ingress: []}"},
		}, []string{"192.0.2.1 red/a tcp/80 allow", "red/a 192.0.2.1 tcp/80 allow"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := base(t)
			c.Answers = map[string][]netip.Addr{"db.example.com": {netip.MustParseAddr("203.0.113.7")}}
			for _, p := range tc.policies {
				addTiered(t, c, p[0], p[1])
			}
			for _, line := range tc.probes {
				probe(t, c, line)
			}
		})
	}
}
