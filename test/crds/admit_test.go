package crds_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/test/crds"
)

const samples = "../../pkg/apis/sdewan/v1alpha1/testdata/samples"

// object reads the text of a manifest. Whole numbers are integers, as they are to a server.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	sent, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(sent, &out))
	return out
}

// sample is one of upstream's samples.
func sample(t *testing.T, name string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(samples, name+".yaml"))
	require.NoError(t, err)
	return object(t, string(text))
}

// changed is a sample with some fields of its spec replaced; null takes one away.
func changed(t *testing.T, name, spec string) map[string]any {
	t.Helper()
	o := sample(t, name)
	was, some := o["spec"].(map[string]any)
	if !some {
		was = map[string]any{}
		o["spec"] = was
	}
	for k, v := range object(t, spec) {
		if was[k] = v; v == nil {
			delete(was, k)
		}
	}
	return o
}

// admit treats o as an API server does.
func admit(t *testing.T, all map[string]*crds.Definition, o map[string]any) []string {
	t.Helper()
	kind, _ := o["kind"].(string)
	require.Contains(t, all, kind)
	return all[kind].Admit(t.Context(), o)
}

func TestUpstreamsSamplesPass(t *testing.T) {
	all := load(t)
	files, err := filepath.Glob(samples + "/*.yaml")
	require.NoError(t, err)
	kinds := map[string]bool{}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".yaml")
		t.Run(name, func(t *testing.T) {
			o := sample(t, name)
			kind, _ := o["kind"].(string)
			kinds[kind] = true
			var want []string
			if name == "cnfnat" { // the device refuses it as well
				want = []string{`spec.dest_ip: Required value: DNAT requires dest_ip or dest_port, the new destination`}
			}
			require.Equal(t, want, admit(t, all, o))
		})
	}
	require.Len(t, kinds, len(all))
}

func TestDefaults(t *testing.T) {
	all := load(t)
	tests := []struct{ name, sample, spec, field, want string }{
		{"an SNAT is an SNAT", "firewallsnat", `{}`, "target", "SNAT"},
		{"a DNAT is a DNAT", "firewalldnat", `{}`, "target", "DNAT"},
		{"a route is in the main table", "cnfroute", `{table: null}`, "table", "default"},
		{"a rule looks up the main table", "cnfrouterule", `{table: null}`, "table", "main"},
		{"a given value stays", "cnfrouterule", `{table: "40"}`, "table", "40"},
		{"empty stays empty", "cnfroute", `{table: ""}`, "table", ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			o := changed(t, tc.sample, tc.spec)
			require.Empty(t, admit(t, all, o))
			spec, _ := o["spec"].(map[string]any)
			require.Equal(t, tc.want, spec[tc.field])
		})
	}
}

// Where absence is allowed, the device takes "" for it, and manifests rely on that.
func TestEmptyTextIsAbsence(t *testing.T) {
	all := load(t)
	mayNot := map[string]bool{ // what must be said
		"IpsecHost.remote": true, "IpsecHost.authentication_method": true, "IpsecSite.remote": true,
		"IpsecSite.authentication_method": true, "Mwan3Rule.policy": true, "CNFNAT.target": true, "CNFRoute.dst": true,
		"CNFRoute.dev": true, "CNFService.fullname": true, "CNFLocalService.localservice": true,
		"CNFLocalService.remoteservice": true, "CNFHubSite.type": true, "CNFHubSite.devicepip": true,
		"CNFHubSite.subnet": true, "FirewallForwarding.src": true, "FirewallForwarding.dest": true,
		"FirewallSNAT.src_dip": true, "FirewallSNAT.dest": true, "FirewallDNAT.src": true,
		"NetworkFirewallRule.src": true, "NetworkFirewallRule.target": true, "IpsecSite.pre_shared_key": true,
		"IpsecHost.pre_shared_key": true, "CNFNAT.dest_ip": true,
	}
	for kind, d := range all {
		for field, schema := range d.Text.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties {
			if schema.Type != "string" {
				continue
			}
			t.Run(kind+"."+field, func(t *testing.T) {
				o := valid(t, kind)
				require.Empty(t, admit(t, all, o))
				spec, _ := o["spec"].(map[string]any)
				spec[field] = ""
				require.Equal(t, mayNot[kind+"."+field], len(admit(t, all, o)) > 0)
			})
		}
	}
}

// valid is an object of a kind that passes.
func valid(t *testing.T, kind string) map[string]any {
	t.Helper()
	if kind == "CNFNAT" {
		return changed(t, "cnfnat", `{dest_ip: 10.0.0.1}`)
	}
	return sample(t, strings.ToLower(kind))
}

func TestBothVocabulariesOfStatusPass(t *testing.T) {
	all := load(t)
	const common = `
conditions:
- {type: Ready, status: "True", reason: Applied, message: "", lastTransitionTime: "2024-01-02T03:04:05Z", observedGeneration: 3}
`
	own := map[string]string{
		"CNFService":      `{sip: 10.96.0.1, port: "8866", dport: "80", message: "", state: In Sync}`,
		"CNFLocalService": `{localip: 10.96.0.1, localport: "80", remoteips: [192.0.2.1], remoteport: "80", message: x, state: Unknown status}`,
		"CNFHubSite":      `{type: Hub, remoteips: [192.0.2.1], subnet: 10.0.0.0/8, hubip: 10.0.0.1, devicepip: "", message: x, state: Idle}`,
		"CNFStatus": `{appliedGeneration: 1, appliedTime: "2024-01-02T03:04:05Z",
			information: [{name: pod, namespace: ns, node: node-1, purpose: base, ip: 10.0.0.1, status: Not Available}]}`,
	}
	const shared = `
appliedVersion: "2"
appliedTime: "2024-01-02T03:04:05Z"
inSync: true
state: Being delete
appliedGeneration: 3
message: ""
pods:
- {name: cnf-0, ip: 10.0.0.1, state: In Sync, message: "", appliedTime: "2024-01-02T03:04:05Z"}
- {name: cnf-1, ip: "", state: Trying to apply, message: the pod is not ready}
`
	for kind := range all {
		t.Run(kind, func(t *testing.T) {
			status := object(t, common)
			text, differs := own[kind]
			if !differs {
				text = shared
			}
			maps.Copy(status, object(t, text))
			o := valid(t, kind)
			o["status"] = status
			require.Empty(t, admit(t, all, o))
			if kind == "CNFStatus" {
				return
			}
			status["state"] = "Synced"
			require.Equal(t, []string{`status.state: Unsupported value: "Synced": supported values: "In Sync", "Idle", ` +
				`"Trying to apply", "Being delete", "Unknown status"`}, admit(t, all, o))
		})
	}
}

func TestAPodSelectorIsLimited(t *testing.T) {
	all := load(t)
	list := func(n int, item string) string { return "[" + strings.Repeat(item+", ", n-1) + item + "]" }
	for _, tc := range []struct{ name, selector, want string }{
		{"as many requirements as are allowed", "{matchExpressions: " + list(64, "{key: a, operator: Exists}") + "}", ""},
		{"a long value", "{matchLabels: {a: " + strings.Repeat("x", 63) + "}}", ""},
		{"one requirement more", "{matchExpressions: " + list(65, "{key: a, operator: Exists}") + "}", "spec.podSelector.matchExpressions: Too many: 65"},
		{"too many values", "{matchExpressions: [{key: a, operator: In, values: " + list(257, "v") + "}]}", "spec.podSelector.matchExpressions[0].values: Too many: 257"},
		{"a key that is too long", "{matchLabels: {" + strings.Repeat("k", 318) + ": v}}", "spec.podSelector.matchLabels: Invalid value"},
		{"a value that is too long", "{matchLabels: {a: " + strings.Repeat("x", 64) + "}}", "spec.podSelector.matchLabels: Invalid value"},
		{"an operator that does not exist", "{matchExpressions: [{key: a, operator: Like}]}", "spec.podSelector.matchExpressions[0].operator: Unsupported value"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			faults := strings.Join(admit(t, all, changed(t, "sdewanapplication", "{podSelector: "+tc.selector+"}")), "\n")
			if tc.want == "" {
				require.Empty(t, faults)
				return
			}
			require.Contains(t, faults, tc.want)
		})
	}
}
