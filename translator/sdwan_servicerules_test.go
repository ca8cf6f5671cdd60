package translator_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/sdwan"
)

func labelled(s *corev1.Service, purpose string) *corev1.Service {
	s.Labels = map[string]string{v1alpha1.LabelPurpose: purpose}
	return s
}

// ids are the device intents of a snapshot, in order.
func ids(s *intent.Snapshot) []string {
	var out []string
	for e := range s.DeviceIntents() {
		out = append(out, string(e.ID))
	}
	return out
}

func TestServiceRules(t *testing.T) {
	dns := newClusterService("dns", "10.96.0.10", 53)
	dns.Spec.Ports = append(dns.Spec.Ports, corev1.ServicePort{Port: 53, Protocol: corev1.ProtocolUDP}, corev1.ServicePort{Port: 54, Protocol: corev1.ProtocolSCTP})
	services := []any{
		labelled(newClusterService("web", "10.96.0.1", 80, 443), "cnf1"),
		dns,
		labelled(newClusterService("headless", corev1.ClusterIPNone, 81), "cnf1"),
		newClusterService("six", "fd00::96", 82),
		labelled(newClusterService("odd", "10.96.0.3", 83), "a b"),
	}
	for _, tc := range []struct {
		name     string
		options  sdwan.Options
		want     []string
		problems string
	}{
		{"off", sdwan.Options{ServicePurpose: "cnf2"}, nil, ""},
		{
			"labelled",
			sdwan.Options{ServiceRules: sdwan.ServiceRulesLabelled, ServicePurpose: "cnf2"},
			[]string{"shop/cnf1/Service/shop/web/tcp/443", "shop/cnf1/Service/shop/web/tcp/80"},
			"Service/shop/headless: spec.clusterIP: expected an IPv4 address to which CNFs can redirect a port\n" +
				`Service/shop/odd: metadata.labels[sdewanPurpose]: "a b": expected a valid label value; the object applies to no CNF`,
		},
		{
			"all",
			sdwan.Options{ServiceRules: sdwan.ServiceRulesAll, ServicePurpose: "cnf2"},
			[]string{
				"shop/cnf1/Service/shop/web/tcp/443", "shop/cnf1/Service/shop/web/tcp/80",
				"shop/cnf2/Service/shop/dns/tcp/53", "shop/cnf2/Service/shop/dns/udp/53",
			},
			`Service/shop/dns: spec.ports[2].protocol: "SCTP": expected TCP or UDP; the port is ignored on CNFs`,
		},
		{
			"all without a purpose for the rest",
			sdwan.Options{ServiceRules: sdwan.ServiceRulesAll},
			[]string{"shop/cnf1/Service/shop/web/tcp/443", "shop/cnf1/Service/shop/web/tcp/80"},
			"",
		},
		{
			"of every namespace",
			sdwan.Options{ServiceRules: sdwan.ServiceRulesLabelled, ClusterWide: true},
			[]string{"/cnf1/Service/shop/web/tcp/443", "/cnf1/Service/shop/web/tcp/80"},
			"",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tr := translator.New(translator.Options{SDWAN: tc.options})
			put(t, tr, services...)
			s := tr.Snapshot()
			require.Equal(t, tc.want, ids(s))
			require.Contains(t, messages(tr), tc.problems)
			require.Equal(t, 4, s.LoadBalancerCount(), "they are load balancers all the same")
			if e := s.DeviceIntent("shop/cnf1/Service/shop/web/tcp/80"); e != nil {
				require.Equal(t, "Service/shop/web", e.Origin.String())
				n := device[intent.LinkNAT](t, s, "Service/shop/web/tcp/80")
				require.Equal(t, intent.DestinationNAT, n.Kind)
				require.Equal(t, intent.Match{Protocol: "tcp", DstPort: 80}, n.Match)
				require.Equal(t, "10.96.0.1:80", n.Addr.String()+":80")
				require.EqualValues(t, 80, n.Port)
			}
		})
	}
}

// TestServiceRuleFollowsItsService checks that the rule changes and goes with the Service, its label and its ports.
func TestServiceRuleFollowsItsService(t *testing.T) {
	tr := translator.New(translator.Options{SDWAN: sdwan.Options{ServiceRules: sdwan.ServiceRulesLabelled}})
	for _, step := range []struct {
		name string
		do   func()
		want []string
	}{
		{"no label", func() { put(t, tr, newClusterService("web", "10.96.0.1", 80)) }, nil},
		{"a label", func() { put(t, tr, labelled(newClusterService("web", "10.96.0.1", 80), "cnf1")) }, []string{"shop/cnf1/Service/shop/web/tcp/80"}},
		{"another port", func() { put(t, tr, labelled(newClusterService("web", "10.96.0.1", 81), "cnf1")) }, []string{"shop/cnf1/Service/shop/web/tcp/81"}},
		{"another label", func() { put(t, tr, labelled(newClusterService("web", "10.96.0.1", 81), "cnf2")) }, []string{"shop/cnf2/Service/shop/web/tcp/81"}},
		{"no address any more", func() { put(t, tr, labelled(newClusterService("web", corev1.ClusterIPNone, 81), "cnf2")) }, nil},
		{"an address again", func() { put(t, tr, labelled(newClusterService("web", "10.96.0.1", 81), "cnf2")) }, []string{"shop/cnf2/Service/shop/web/tcp/81"}},
		{"no label any more", func() { put(t, tr, newClusterService("web", "10.96.0.1", 81)) }, nil},
		{"back", func() { put(t, tr, labelled(newClusterService("web", "10.96.0.1", 81), "cnf2")) }, []string{"shop/cnf2/Service/shop/web/tcp/81"}},
		{"gone", func() { tr.Remove(object.KindService, "shop", "web") }, nil},
	} {
		step.do()
		require.Equal(t, step.want, ids(tr.Snapshot()), step.name)
	}
	require.Empty(t, messages(tr))
	require.True(t, translator.Empty(tr))
}

// TestAPortLeadsToOneService has several want the same port, in any order.
func TestAPortLeadsToOneService(t *testing.T) {
	at := func(year int) metav1.Time { return metav1.NewTime(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)) }
	service := func(name string, year int) *corev1.Service {
		s := labelled(newClusterService(name, "10.96.0."+strconv.Itoa(int(name[0])), 80), "cnf1")
		s.CreationTimestamp = at(year)
		return s
	}
	tr := translator.New(translator.Options{SDWAN: sdwan.Options{ServiceRules: sdwan.ServiceRulesLabelled}})
	asked := newCNFService("asked", "192.0.2.1", "80")
	asked.CreationTimestamp = at(2030)
	gone := asked.DeepCopy()
	gone.DeletionTimestamp = &metav1.Time{}
	moved := asked.DeepCopy()
	moved.Spec.Port = "81"
	for _, step := range []struct {
		name     string
		do       func()
		want     []string
		problems int
	}{
		{"the first", func() { put(t, tr, service("m", 2020)) }, []string{"Service/shop/m/tcp/80"}, 0},
		{"a younger one", func() { put(t, tr, service("a", 2021)) }, []string{"Service/shop/m/tcp/80"}, 1},
		{"one of unknown age", func() {
			put(t, tr, labelled(newClusterService("0", "10.96.1.0", 80), "cnf1"))
		}, []string{"Service/shop/m/tcp/80"}, 2},
		{"it goes", func() { tr.Remove(object.KindService, "shop", "0") }, []string{"Service/shop/m/tcp/80"}, 1},
		{"an older one", func() { put(t, tr, service("z", 2019)) }, []string{"Service/shop/z/tcp/80"}, 2},
		{"a resource", func() { put(t, tr, asked) }, []string{"CNFService/shop/asked"}, 3},
		{"it moves away", func() { put(t, tr, moved) }, []string{"CNFService/shop/asked", "Service/shop/z/tcp/80"}, 2},
		{"it comes back", func() { put(t, tr, asked) }, []string{"CNFService/shop/asked"}, 3},
		{"it is to go", func() { put(t, tr, gone) }, []string{"CNFService/shop/asked", "Service/shop/z/tcp/80"}, 2},
		{"it is gone", func() { tr.Remove("CNFService", "shop", "asked") }, []string{"Service/shop/z/tcp/80"}, 2},
		{"the oldest goes", func() { tr.Remove(object.KindService, "shop", "z") }, []string{"Service/shop/m/tcp/80"}, 1},
		{"the last but one", func() { tr.Remove(object.KindService, "shop", "m") }, []string{"Service/shop/a/tcp/80"}, 0},
	} {
		step.do()
		var want []string
		for _, id := range step.want {
			want = append(want, "shop/cnf1/"+id)
		}
		require.Equal(t, want, ids(tr.Snapshot()), step.name)
		require.Len(t, tr.Problems(), step.problems, step.name)
	}
}

func TestServiceRulesHaveNames(t *testing.T) {
	for _, r := range []sdwan.ServiceRules{sdwan.ServiceRulesOff, sdwan.ServiceRulesLabelled, sdwan.ServiceRulesAll} {
		got, err := sdwan.ParseServiceRules(r.String())
		require.NoError(t, err)
		require.Equal(t, r, got)
	}
	got, err := sdwan.ParseServiceRules("")
	require.NoError(t, err)
	require.Zero(t, got)
	_, err = sdwan.ParseServiceRules("some")
	require.EqualError(t, err, `"some": expected off, labelled or all`)
	require.Equal(t, "service rules 9", sdwan.ServiceRules(9).String())
}
