package manifest

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1alpha1 "sigs.k8s.io/network-policy-api/apis/v1alpha1"
	policyv1alpha2 "sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/pkg/object"
)

// clusterWide is a document that declares a cluster-wide policy.
func clusterWide(version, kind, name, spec string) string {
	return "---\napiVersion: policy.networking.k8s.io/" + version + "\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: {" + spec + "}\n"
}

func clusterNetworkPolicy(spec string) string {
	return clusterWide("v1alpha2", object.KindClusterNetworkPolicy, "lockdown", spec)
}

// every is the subject of all pods, for the other fields of a policy.
const every = "priority: 7, subject: {namespaces: {}}"

var lockdown = object.Ref{Kind: object.KindClusterNetworkPolicy, Name: "lockdown"}

func TestClusterWidePolicies(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", clusterNetworkPolicy("tier: Admin, "+every+", egress: [{name: ssh, action: Deny, to: [{networks: [10.0.0.0/8]}], protocols: [{tcp: {destinationPort: {number: 22}}}]}]")+
		clusterWide("v1alpha1", object.KindAdminNetworkPolicy, "old", every+", ingress: [{action: Pass, from: [{namespaces: {}}], ports: [{portNumber: {port: 80}}, {portRange: {start: 1, end: 9}}]}]")+
		clusterWide("v1alpha1", object.KindBaselineAdminNetworkPolicy, "default", "subject: {namespaces: {}}, egress: [{action: Deny, to: [{nodes: {}}], ports: [{portNumber: {port: 80, protocol: UDP}}]}]"))
	d, err := LoadDirectory(dir, Options{}, quiet())
	require.NoError(t, err)
	require.Empty(t, d.Problems())

	o, ok := d.Get(lockdown)
	require.True(t, ok)
	p := o.(*policyv1alpha2.ClusterNetworkPolicy)
	require.Equal(t, int32(7), p.Spec.Priority)
	require.Equal(t, int32(22), p.Spec.Egress[0].Protocols[0].TCP.DestinationPort.Number)
	o, _ = d.Get(object.Ref{Kind: object.KindAdminNetworkPolicy, Name: "old"})
	ports := *o.(*policyv1alpha1.AdminNetworkPolicy).Spec.Ingress[0].Ports
	require.Equal(t, corev1.ProtocolTCP, ports[0].PortNumber.Protocol)
	require.Equal(t, corev1.ProtocolTCP, ports[1].PortRange.Protocol)
	o, _ = d.Get(object.Ref{Kind: object.KindBaselineAdminNetworkPolicy, Name: "default"})
	require.Equal(t, corev1.ProtocolUDP, (*o.(*policyv1alpha1.BaselineAdminNetworkPolicy).Spec.Egress[0].Ports)[0].PortNumber.Protocol)

	var text bytes.Buffer
	require.NoError(t, Write(&text, d, d.Refs(), nil, nil))
	again := t.TempDir()
	write(t, again, "a.json", text.String())
	same, err := LoadDirectory(again, Options{}, quiet())
	require.NoError(t, err)
	require.Empty(t, same.Problems())
	for _, ref := range d.Refs() {
		want, _ := d.Get(ref)
		got, _ := same.Get(ref)
		require.Equal(t, want, got)
	}
}

func TestFaultyClusterWidePolicies(t *testing.T) {
	rule := func(r string) string { return clusterNetworkPolicy("tier: Admin, " + every + ", egress: [" + r + "]") }
	admin := func(spec string) string {
		return clusterWide("v1alpha1", object.KindAdminNetworkPolicy, "old", spec)
	}
	tooMany := strings.Repeat("{action: Deny, to: [{namespaces: {}}]}, ", 26)
	for _, tc := range []struct{ name, content, want string }{
		{"a priority out of range", clusterNetworkPolicy("tier: Admin, priority: 1001, subject: {namespaces: {}}"), "spec.priority: Invalid value: 1001: should be less than or equal to 1000"},
		{"an unknown tier", clusterNetworkPolicy("tier: admin, " + every), `spec.tier: Unsupported value: "admin"`},
		{"no subject", clusterNetworkPolicy("tier: Admin, priority: 1"), "spec.subject: Required value"},
		{"two subjects", clusterNetworkPolicy("tier: Admin, priority: 1, subject: {namespaces: {}, pods: {namespaceSelector: {}, podSelector: {}}}"), "spec.subject: Too many: 2: must have at most 1 item"},
		{"an unknown action", rule("{action: Allow, to: [{namespaces: {}}]}"), `spec.egress[0].action: Unsupported value: "Allow"`},
		{"no peers", rule("{action: Deny, to: []}"), "spec.egress[0].to: Invalid value: 0: should have at least 1 items"},
		{"a field that the kind does not have", rule("{action: Deny, to: [{namespaces: {}}], ports: []}"), "spec.egress[0].ports: unknown field"},
		{"a network that is not one", rule("{action: Deny, to: [{networks: [10.0.0.0]}]}"), "Invalid CIDR format provided"},
		{"a range the wrong way round", rule("{action: Deny, to: [{namespaces: {}}], protocols: [{udp: {destinationPort: {range: {start: 9, end: 1}}}}]}"), "spec.egress[0].protocols[0].udp.destinationPort.range: Invalid value"},
		{"a named port of networks", rule("{action: Deny, to: [{networks: [10.0.0.0/8]}], protocols: [{destinationNamedPort: web}]}"), "networks/nodes/domainNames peer cannot be set with namedPorts"},
		{"more rules than allowed", rule(tooMany), "spec.egress: Too many: 26: must have at most 25 items"},
		{"an action of the newer kind", admin(every + ", ingress: [{action: Accept, from: [{namespaces: {}}]}]"), `spec.ingress[0].action: Unsupported value: "Accept"`},
		{"a port of the older kind out of range", admin(every + ", ingress: [{action: Deny, from: [{namespaces: {}}], ports: [{portNumber: {port: 70000}}]}]"), "spec.ingress[0].ports[0].portNumber.port: Invalid value: 70000"},
		{"another name than default", clusterWide("v1alpha1", object.KindBaselineAdminNetworkPolicy, "base", "subject: {namespaces: {}}"), "Only one baseline admin network policy with metadata.name="},
		{"a version that is not served", clusterWide("v1beta1", object.KindClusterNetworkPolicy, "lockdown", every), `apiVersion: no matches for kind "ClusterNetworkPolicy" in version "policy.networking.k8s.io/v1beta1"; expected policy.networking.k8s.io/v1alpha2`},
		{"a misspelt kind", clusterWide("v1alpha1", "AdmimNetworkPolicy", "old", every), `kind: no matches for kind "AdmimNetworkPolicy"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "a.yaml", tc.content)
			d, err := LoadDirectory(dir, Options{}, quiet())
			require.NoError(t, err)
			require.Contains(t, strings.Join(faults(d, dir), "\n"), tc.want)
		})
	}
}

func TestStandInsOfClusterWidePolicies(t *testing.T) {
	const deny = "{action: Deny, to: [{namespaces: {}}]}"
	good := "tier: Baseline, " + every
	for _, tc := range []struct{ name, content, want string }{
		{
			"a rule that cannot be read denies everything, and the others apply", clusterNetworkPolicy(good + ", egress: [{action: Accept, to: [{namespaces: {}}]}, {action: Deny, to: [{networks: [x]}]}, " + deny + "]"),
			`{"tier":"Baseline","priority":7,"subject":{"namespaces":{}},"egress":[{"action":"Deny","to":null},{"action":"Deny","to":[{"namespaces":{}}]}]}`,
		},
		{
			"a rule that passes and cannot be read denies", clusterNetworkPolicy(good + ", egress: [{action: Pass, to: [{pod: {}}]}]"),
			`{"tier":"Baseline","priority":7,"subject":{"namespaces":{}},"egress":[{"action":"Pass","to":null}]}`,
		},
		{
			"an unknown action denies", clusterNetworkPolicy(good + ", egress: [{action: deny, to: [{namespaces: {}}]}]"),
			`{"tier":"Baseline","priority":7,"subject":{"namespaces":{}},"egress":[{"action":"Deny","to":null}]}`,
		},
		{
			"a subject that cannot be read", clusterNetworkPolicy("tier: Admin, priority: 1, subject: {namespace: {}}, egress: [" + deny + "]"),
			`{"tier":"Admin","priority":1,"subject":{},"egress":[{"action":"Deny","to":[{"namespaces":{}}]}]}`,
		},
		{
			"a tier that cannot be read", clusterNetworkPolicy("tier: admin, " + every + ", egress: [" + deny + "]"),
			`{"tier":"","priority":7,"subject":{"namespaces":{}},"egress":[{"action":"Deny","to":[{"namespaces":{}}]}]}`,
		},
		{
			"a misspelt direction", clusterNetworkPolicy(good + ", egres: [" + deny + "], ingress: []"),
			`{"tier":"Baseline","priority":7,"subject":{"namespaces":{}},"egress":[{"action":"Deny","to":null}]}`,
		},
		{
			"rules that are not a list", clusterNetworkPolicy(good + ", ingress: {}"),
			`{"tier":"Baseline","priority":7,"subject":{"namespaces":{}},"ingress":[{"action":"Deny","from":null}]}`,
		},
		{
			"rules given twice", clusterNetworkPolicy(good + ", ingress: [], ingress: []"),
			`{"tier":"","priority":0,"subject":{},"ingress":[{"action":"Deny","from":null}],"egress":[{"action":"Deny","to":null}]}`,
		},
		{
			"a misspelt specification", strings.Replace(clusterNetworkPolicy(good), "spec:", "sepc:", 1),
			`{"tier":"","priority":0,"subject":{},"ingress":[{"action":"Deny","from":null}],"egress":[{"action":"Deny","to":null}]}`,
		},
		{
			"a fault in what only accepts", clusterNetworkPolicy(good + ", egress: [{action: Accept, to: [{networks: [x]}]}]"),
			`{"tier":"Baseline","priority":7,"subject":{"namespaces":{}}}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "a.yaml", tc.content)
			d, err := LoadDirectory(dir, Options{}, quiet())
			require.NoError(t, err)
			require.Contains(t, faults(d, dir)[0], clusterEffect)
			o, ok := d.Get(lockdown)
			require.True(t, ok)
			text, err := json.Marshal(o.(*policyv1alpha2.ClusterNetworkPolicy).Spec)
			require.NoError(t, err)
			require.JSONEq(t, tc.want, string(text))
		})
	}
}

// TestFaultyVersionOfAClusterWidePolicy checks that the version before stays in force.
func TestFaultyVersionOfAClusterWidePolicy(t *testing.T) {
	good := clusterNetworkPolicy("tier: Admin, " + every + ", ingress: [{action: Deny, from: [{namespaces: {}}]}]")
	dir := t.TempDir()
	write(t, dir, "a.yaml", good)
	d, err := LoadDirectory(dir, Options{}, quiet())
	require.NoError(t, err)
	before, _ := d.Get(lockdown)
	write(t, filepath.Clean(dir), "a.yaml", strings.Replace(good, "Deny", "Denied-for-good", 1))
	require.NoError(t, d.ReadOnce())
	require.NotEmpty(t, d.Problems())
	now, ok := d.Get(lockdown)
	require.True(t, ok)
	require.Equal(t, before, now)
}
