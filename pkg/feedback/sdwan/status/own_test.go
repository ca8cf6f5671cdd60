package status_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/sdwan/status"
	"github.com/netloom/netloom/pkg/intent"
)

// parts puts the intents of an object into the snapshot, one for each spec.
func (p *place) parts(o status.Object, kind string, specs ...intent.DeviceSpec) any {
	o.SetNamespace("site")
	o.SetName("own")
	o.SetLabels(map[string]string{v1alpha1.LabelPurpose: "cnf"})
	origin := intent.Origin{Kind: kind, Namespace: "site", Name: "own"}
	p.change(func(b *intent.Builder) {
		for i, spec := range specs {
			id := intent.NewDeviceIntentID(scope, origin, fmt.Sprint(i))
			b.PutDeviceIntent(&intent.DeviceIntent{ID: id, Scope: scope, Origin: origin, Spec: spec})
		}
	})
	p.reach("a")
	v, ok := p.world().Of(o)
	require.True(p, ok)
	return v.Status
}

func nat(dst, to string, port, newPort uint16) *intent.LinkNAT {
	n := &intent.LinkNAT{Translation: intent.Translation{Kind: intent.DestinationNAT, Addr: netip.MustParseAddr(to), Port: newPort}}
	n.Match.DstPort = port
	if dst != "" {
		n.Match.Dst = netip.MustParsePrefix(dst)
	}
	return n
}

func TestServicesShowWhatTheyFound(t *testing.T) {
	p := newPlace(t, "a")
	s, ok := p.parts(&v1alpha1.CNFService{}, "CNFService", nat("", "10.96.0.7", 2288, 8080)).(*v1alpha1.CNFServiceStatus)
	require.True(t, ok)
	require.Equal(t, []string{"10.96.0.7", "2288", "8080", "In Sync"}, []string{s.SIP, s.Port, s.DPort, string(s.State)})
	require.Len(t, s.Conditions, 2)

	l, ok := p.parts(&v1alpha1.CNFLocalService{}, "CNFLocalService",
		nat("192.0.2.9/32", "10.96.0.8", 0, 53), nat("192.0.2.10/32", "10.96.0.8", 0, 53)).(*v1alpha1.CNFLocalServiceStatus)
	require.True(t, ok)
	require.Equal(t, []string{"10.96.0.8", "53", ""}, []string{l.LocalIP, l.LocalPort, l.RemotePort})
	require.Equal(t, []string{"192.0.2.10", "192.0.2.9"}, l.RemoteIPs)

	site := &v1alpha1.CNFHubSite{Spec: v1alpha1.CNFHubSiteSpec{Type: "Hub", Subnet: "10.9.0.0/24", HubIP: "10.1.1.1"}}
	h, ok := p.parts(site, "CNFHubSite", &intent.Route{Dst: netip.MustParsePrefix("10.9.0.0/24")},
		&intent.Route{Dst: netip.MustParsePrefix("192.0.2.1/32")}).(*v1alpha1.CNFHubSiteStatus)
	require.True(t, ok)
	require.Equal(t, []string{"192.0.2.1"}, h.SiteIPs)
	require.Equal(t, []string{"Hub", "10.9.0.0/24", "10.1.1.1"}, []string{h.Type, h.Subnet, h.HubIP})
}

func conntrack(n int) status.Module {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"protocol":"tcp","request":{"src":"10.0.0.1:%d","dst":"10.0.0.2:80"}}`, i)
	}
	return status.Module{Name: "conntrack", Status: json.RawMessage("[" + strings.Join(list, ",") + "]")}
}

func TestAReportIsCutWhereItHurtsLeast(t *testing.T) {
	ipsec := status.Module{Name: "ipsec", Status: json.RawMessage(`{"InitConnection":"success","details":[{"up":"2","connecting":"1"}]}`)}
	whole := status.Report{conntrack(2), ipsec}
	require.NotContains(t, whole.Text(1000), "omitted")

	long := status.Report{conntrack(1000), ipsec}
	text := long.Text(1000)
	require.LessOrEqual(t, len(text), 1000)
	var back []struct {
		Name    string
		Status  json.RawMessage
		Omitted string
	}
	require.NoError(t, json.Unmarshal([]byte(text), &back))
	require.Contains(t, back[0].Omitted, "of 1000 entries")
	require.Contains(t, string(back[0].Status), "10.0.0.1:0")
	require.JSONEq(t, string(ipsec.Status), string(back[1].Status), "what fits stays whole")
	require.Contains(t, string(long[0].Status), "10.0.0.1:999", "the report itself is not changed")

	long = status.Report{conntrack(1), {Name: "route", Status: json.RawMessage(`"` + strings.Repeat("x", 2000) + `"`)}, ipsec}
	text = long.Text(1000)
	require.LessOrEqual(t, len(text), 1000)
	require.Contains(t, text, `{"name":"route","status":null,"omitted":"all of it: too long"}`)
	require.Contains(t, text, `"up":"2"`)
	require.Equal(t, status.NotAvailable, whole.Text(10))
	require.Equal(t, 16<<10, status.Limit(3))
	require.LessOrEqual(t, status.Limit(600)*600, 512<<10)
}

func TestTunnelsAreCounted(t *testing.T) {
	for text, want := range map[string]status.Tunnels{
		`{"InitConnection":"success","details":[{"up":"2","connecting":"1"}]}`: {Up: 2, Connecting: 1, Complete: true},
		`{"InitConnection":"fail","details":[{"up":0,"connecting":3}]}`:        {Connecting: 3},
		`{"InitConnection":"fail","details":[{"connection":"none"}]}`:          {},
	} {
		got, ok := status.Report{{Name: "ipsec", Status: json.RawMessage(text)}}.Tunnels()
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"null", "[]", `{"details":[]}`, ""} {
		_, ok := status.Report{{Name: "ipsec", Status: json.RawMessage(text)}}.Tunnels()
		require.False(t, ok, text)
	}
}

func TestAnOverviewSaysWhoIsSilent(t *testing.T) {
	all := []v1alpha1.CNFInformation{{Name: "a", Status: "[]"}, {Name: "b", Status: status.NotAvailable}}
	s := status.Shown(&v1alpha1.CNFStatusStatus{}, 3, all, noon)
	require.EqualValues(t, 3, s.AppliedGeneration)
	require.Equal(t, "1 of 2 pods returned no report", s.Conditions[0].Message)
	s = status.Shown(s, 3, all, later)
	require.Equal(t, noon, s.Conditions[0].LastTransitionTime)
	require.Equal(t, &later, s.AppliedTime)
	s = status.Shown(s, 3, all[:1], later)
	require.Equal(t, metav1.ConditionTrue, s.Conditions[0].Status)
}
