package cnf

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/netloom/netloom/pkg/openwrt"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// edits change one field of the spec of each kind, to what no manifest says. A CNFStatus has nothing on the device.
func edits() map[string]map[string]any {
	return map[string]map[string]any{
		"CNFHubSite":          {"subnet": "192.168.10.0/24"},
		"CNFLocalService":     {"localport": "8081"},
		"CNFNAT":              {"src_ip": "10.6.0.0/16"},
		"CNFRoute":            {"gw": "10.10.20.9"},
		"CNFRouteRule":        {"prio": "889"},
		"CNFService":          {"port": "8867"},
		"CNFStatus":           nil,
		"FirewallDNAT":        {"src_ip": "192.168.1.3"},
		"FirewallForwarding":  {"family": "ipv4"},
		"FirewallRule":        {"src_ip": "192.168.2.3"},
		"FirewallSNAT":        {"src_dip": "1.2.3.6"},
		"FirewallZone":        {"input": "DROP"},
		"IpsecHost":           {"local_identifier": "another"},
		"IpsecProposal":       {"hash_algorithm": "sha512"},
		"IpsecSite":           {"local_identifier": "another"},
		"Mwan3Policy":         {"members": []any{map[string]any{"network": "ovn-net1", "metric": int64(7), "weight": int64(7)}}},
		"Mwan3Rule":           {"dest_ip": "10.10.11.0/24"},
		"NetworkFirewallRule": {"src_ip": "192.168.3.0/24"},
		"SdewanApplication":   {"podSelector": map[string]any{"matchLabels": map[string]any{"app": "other"}, "matchExpressions": nil}},
	}
}

// subject is a resource that is on a device, and its objects there.
type subject struct {
	t       *testing.T
	st      *stage
	object  *unstructured.Unstructured
	device  *simulator.Device
	client  *openwrt.Client // another client
	before  string          // what the device had without it
	had     []openwrt.Object
	applied string // what it adds
}

// newSubject is for a resource that is in sync; before and had are what the device had without it.
func newSubject(t *testing.T, st *stage, o *unstructured.Unstructured, client *openwrt.Client, before string, had []openwrt.Object) *subject {
	t.Helper()
	s := &subject{t: t, st: st, object: o, device: st.cluster.devices.of("default/cnf-1").device, client: client, before: before, had: had}
	s.applied = s.adds()
	return s
}

// stranger is a client of a device that has the password and is not the controller.
func stranger(t *testing.T, d *simulator.Device) *openwrt.Client {
	t.Helper()
	c, err := openwrt.New(openwrt.Options{
		URL: d.URL(), Dial: d.Dial, Password: func(context.Context) (string, error) { return password, nil },
	})
	require.NoError(t, err)
	return c
}

// adds is what the device has because of the resource, in any order.
func (s *subject) adds() string {
	parts := strings.Split(strings.ReplaceAll(strings.TrimSpace(added(s.before, s.device.Export()+s.device.Kernel())), "\n\n", "\n"), "\n")
	slices.Sort(parts)
	return strings.Join(parts, "\n")
}

// kept lists what a device keeps, as its interface reports it.
func kept(t *testing.T, c *openwrt.Client) []openwrt.Object {
	t.Helper()
	var out []openwrt.Object
	for _, k := range openwrt.Kinds() {
		list, err := c.List(t.Context(), k)
		require.NoError(t, err)
		for _, o := range list {
			o["kind"] = k
			out = append(out, o)
		}
	}
	return out
}

// own are the objects that are there because of the resource, those that are referred to last.
func (s *subject) own() []openwrt.Object {
	s.t.Helper()
	list := slices.DeleteFunc(kept(s.t, s.client), func(o openwrt.Object) bool {
		return slices.ContainsFunc(s.had, func(h openwrt.Object) bool { return h["kind"] == o["kind"] && h.Name() == o.Name() }) ||
			strings.Contains(o.Name(), "_seal_") || strings.Contains(o.Name(), "_parts_")
	})
	slices.Reverse(list)
	return list
}

// take is the kind of an object of kept, and the object without it.
func take(o openwrt.Object) (openwrt.Kind, openwrt.Object) {
	kind, _ := o["kind"].(openwrt.Kind)
	plain := openwrt.Object{}
	for field, v := range o {
		if field != "kind" {
			plain[field] = v
		}
	}
	return kind, plain
}

// inSync requires that the resource is in sync and the device is left alone.
func (s *subject) inSync() {
	s.t.Helper()
	name := s.object.GetNamespace() + "/" + s.object.GetName()
	require.NoError(s.t, s.st.status([]string{s.object.GetKind(), name, "insync"}), s.st.cluster.log.recent())
	require.NoError(s.t, s.st.quiet([]string{"10m"}), "the second plan is not empty")
}

// update edits the resource and takes the edit back. It returns the device's objects as they were meanwhile.
func (s *subject) update(change map[string]any) []openwrt.Object {
	s.t.Helper()
	o := s.object
	require.True(s.t, s.st.cluster.API.Edit(plural(o.GetKind()), o.GetNamespace(), o.GetName(), func(o *unstructured.Unstructured) {
		o.Object = mergePatch(o.Object, map[string]any{"spec": change})
	}))
	time.Sleep(rest)
	edited := s.adds()
	require.NotEqual(s.t, s.applied, edited, "the edit did not get to the device")
	if o.GetKind() != "Mwan3Policy" { // whose members are sections
		require.Equal(s.t, strings.Count(s.applied, "config "), strings.Count(edited, "config "), "the former is still there:\n%s", edited)
	}
	s.inSync()
	require.Equal(s.t, edited, s.adds())
	was := s.own()
	require.NoError(s.t, s.st.cluster.Apply(o))
	time.Sleep(rest)
	require.Equal(s.t, s.applied, s.adds(), "the edit was taken back")
	s.inSync()
	return was
}

// drift deletes the resource's objects by the interface of the device, and writes them as they were under the edit. Each
// time all is as it was within an interval.
func (s *subject) drift(other []openwrt.Object) {
	s.t.Helper()
	repaired := func(what string) {
		s.t.Helper()
		require.NotEqual(s.t, s.applied, s.adds(), what)
		time.Sleep(Interval)
		require.Equal(s.t, s.applied, s.adds(), what)
		s.inSync()
	}
	mine := s.own()
	require.NotEmpty(s.t, mine)
	for _, o := range mine {
		kind, plain := take(o)
		require.NoError(s.t, s.client.Delete(s.t.Context(), kind, plain.Name()))
	}
	repaired("deleted by another client")
	for _, o := range other {
		kind, plain := take(o)
		if plain["authentication_method"] == "pubkey" { // certificates cannot be read, and so not be written back
			return
		}
		_, err := s.client.Put(s.t.Context(), kind, plain)
		require.NoError(s.t, err)
	}
	repaired("changed by another client")
	require.Contains(s.t, s.st.cluster.log.page.String(), "was changed by someone else")
}

// requireReads requires that a device was only read since its record was emptied; services may have been reloaded.
func requireReads(t *testing.T, d *simulator.Device) {
	t.Helper()
	for _, r := range d.Requests() {
		require.True(t, r.Method == http.MethodGet || r.Login || strings.Contains(r.Path, "/service/"), "another controller writes: %+v", r)
	}
}
