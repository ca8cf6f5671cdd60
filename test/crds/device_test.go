package crds_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// collections are where a device keeps the kinds that it knows.
var collections = map[string]string{
	"Mwan3Policy": "mwan3/v1/policies", "Mwan3Rule": "mwan3/v1/rules", "FirewallZone": "firewall/v1/zones",
	"FirewallRule": "firewall/v1/rules", "FirewallSNAT": "firewall/v1/redirects", "FirewallDNAT": "firewall/v1/redirects",
	"FirewallForwarding": "firewall/v1/forwardings", "NetworkFirewallRule": "networkfirewall/v1/rules",
	"IpsecProposal": "ipsec/v1/proposals", "IpsecSite": "ipsec/v1/remotes", "IpsecHost": "ipsec/v1/remotes",
	"CNFNAT": "nat/v1/nats", "CNFRoute": "route/v1/routes", "CNFRouteRule": "rule/v1/rules",
}

// device is a device with everything on it that samples refer to.
func device(t *testing.T) *simulator.Device {
	t.Helper()
	d, err := simulator.New(simulator.Options{})
	require.NoError(t, err)
	t.Cleanup(d.Close)
	for _, o := range [][2]string{
		{"firewall/v1/zones", `{"name":"zone1","network":["net0"]}`},
		{"firewall/v1/zones", `{"name":"zone2","network":["net1"]}`},
		{"mwan3/v1/policies", `{"name":"balance1","members":[{"interface":"net1","metric":"1","weight":"1"}]}`},
		{"ipsec/v1/proposals", `{"name":"ipsecproposal"}`},
		{"ipsec/v1/proposals", `{"name":"proposal1"}`},
		{"ipsec/v1/proposals", `{"name":"test_proposal_1"}`},
	} {
		status, answer := post(t, d, o[0], []byte(o[1]))
		require.Equal(t, http.StatusCreated, status, answer)
	}
	return d
}

func post(t *testing.T, d *simulator.Device, path string, body []byte) (int, string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DialContext: d.Dial, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://device/cgi-bin/luci/sdewan/"+path,
		bytes.NewReader(body))
	require.NoError(t, err)
	answer, err := client.Do(request)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }() // it was read
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

// takes reports whether a device keeps an object, and its answer. A missing reference is not a refusal.
func takes(t *testing.T, o map[string]any) (bool, string) {
	t.Helper()
	kind, _ := o["kind"].(string)
	body, err := json.Marshal(wire(t, o))
	require.NoError(t, err)
	status, answer := post(t, device(t), collections[kind], body)
	kept := status == http.StatusCreated && strings.TrimSpace(answer) != "null" &&
		strings.Contains(answer, `"conn_type"`) == strings.Contains(string(body), `"connections"`)
	missing := status == http.StatusPreconditionRequired && !strings.Contains(answer, "[Not an array]")
	return kept || missing, fmt.Sprint(status, " ", answer)
}

// wire is what a controller sends for o: the fields of the spec, with names that exist on the device.
func wire(t *testing.T, o map[string]any) map[string]any {
	t.Helper()
	spec, _ := o["spec"].(map[string]any)
	out := map[string]any{}
	for k, v := range spec {
		if v != nil && v != "" {
			out[k] = v
		}
	}
	out["name"] = "ours"
	rename(out, "not", "flag")
	rename(out, "remote", "gateway")
	kind, _ := o["kind"].(string)
	if target, some := strings.CutPrefix(kind, "Firewall"); some && strings.HasSuffix(target, "NAT") {
		out["target"] = target
	}
	for _, field := range []string{"src", "dest", "dev"} {
		was, some := out[field].(string)
		switch {
		case !some || strings.HasPrefix(was, "#") || strings.HasPrefix(kind, "CNFRouteRule"):
		case strings.HasPrefix(kind, "Firewall") && kind != "FirewallZone":
			out[field] = map[string]string{"src": "zone1", "dest": "zone2"}[field]
		default:
			out[field] = "net0"
		}
	}
	if networks, some := out["network"].([]any); some {
		for i := range networks {
			networks[i] = fmt.Sprint("net", i)
		}
		if len(networks) == 0 {
			delete(out, "network")
		}
	}
	if members, some := out["members"].([]any); some {
		numbers := map[any]string{}
		for _, m := range members {
			member, _ := m.(map[string]any)
			if numbers[member["network"]] == "" {
				numbers[member["network"]] = fmt.Sprint("net", len(numbers))
			}
			member["interface"] = numbers[member["network"]]
			for _, n := range []string{"metric", "weight"} {
				if member[n] != nil {
					member[n] = fmt.Sprint(member[n])
				}
			}
		}
	}
	return out
}

func rename(o map[string]any, from, to string) {
	if v, some := o[from]; some {
		o[to] = v
		delete(o, from)
	}
}

func TestDeviceTakesWhatPasses(t *testing.T) {
	all := load(t)
	files, err := filepath.Glob(samples + "/*.yaml")
	require.NoError(t, err)
	rows := unusuals()
	for _, f := range files {
		rows = append(rows, unusual{sample: strings.TrimSuffix(filepath.Base(f), ".yaml"), spec: `{}`})
	}
	for _, tc := range rows {
		o := changed(t, tc.sample, tc.spec)
		kind, _ := o["kind"].(string)
		spec, _ := o["spec"].(map[string]any)
		if collections[kind] == "" || tc.sample == "cnfnat" && tc.name == "" || secret(spec) || tc.name == "what the device drops" {
			continue // made of others by a controller, refused, resolved or respelt before it is sent
		}
		t.Run(tc.sample+" "+tc.name, func(t *testing.T) {
			require.Empty(t, admit(t, all, o))
			ok, answer := takes(t, o)
			require.True(t, ok, answer)
		})
	}
}

// secret reports whether something of a spec is in a Secret.
func secret(spec map[string]any) bool {
	for k := range spec {
		if strings.HasSuffix(k, "_secret") {
			return true
		}
	}
	return false
}

// taken are the mistakes that a device accepts, with the reason why the schemas do not.
func taken() map[string]string {
	const (
		upstream  = "upstream's schemas refuse it"
		useless   = "it does nothing, or not what it says"
		dangerous = "it would end the value in a command or a file"
		ambiguous = "it contradicts itself"
		later     = "the device looks names up, and this one can never exist"
	)
	return map[string]string{
		"a rule without a key":                upstream,
		"a member without weight":             upstream,
		"a zone without the list of networks": upstream,
		"a proposal without a key":            upstream,
		"a site without subnet of its own":    upstream,
		"not as text":                         upstream,

		"a metric that mwan3 passes over":     useless,
		"too much weight":                     useless,
		"a rule without policy":               useless,
		"an address with a leading zero":      useless,
		"a port too many":                     useless,
		"a forwarding from nowhere":           useless,
		"a forwarding to nowhere":             useless,
		"no kind of translation":              useless,
		"a type in the wrong case":            useless,
		"no peer":                             useless,
		"an invalid mark":                     useless,
		"extra between interfaces":            useless,
		"a certificate that is not in base64": useless,
		"a private key that is not in base64": useless,
		"a mark with a command in it":         dangerous,
		"a key of two lines":                  dangerous,
		"a quotation mark":                    dangerous,
		"psk with two keys":                   ambiguous,
		"two certificates":                    ambiguous,
		"two private keys":                    ambiguous,
		"two authorities":                     ambiguous,
		"SNAT that says DNAT":                 ambiguous,
		"DNAT that says SNAT":                 ambiguous,
		"a member without network":            later,
		"a network without name":              later,
		"a zone that cannot exist":            later,
		"a zone by a sign":                    later,
		"an invalid interface":                later,
		"an interface by address":             later,
	}
}

func TestDeviceRefusesTheRest(t *testing.T) {
	want := taken()
	for _, tc := range mistakes() {
		o := changed(t, tc.sample, tc.spec)
		if kind, _ := o["kind"].(string); collections[kind] == "" || strings.HasPrefix(tc.want, "unknown field") {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			ok, answer := takes(t, o)
			require.Equal(t, want[tc.name] != "", ok, answer)
			delete(want, tc.name)
		})
	}
	require.Empty(t, want)
}
