package translator_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/seeds"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/sdwan"
)

// purposed is the head of an object of the namespace shop for the CNF cnf1.
func purposed(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{v1alpha1.LabelPurpose: "cnf1"}}
}

func newZone(name string) *v1alpha1.FirewallZone {
	return &v1alpha1.FirewallZone{ObjectMeta: purposed(name), Spec: v1alpha1.FirewallZoneSpec{Network: []string{"net-a"}}}
}

func newForwarding(name, from, to string) *v1alpha1.FirewallForwarding {
	f := &v1alpha1.FirewallForwarding{ObjectMeta: purposed(name)}
	f.Spec.Src, f.Spec.Dest = v1alpha1.Zone(from), v1alpha1.Zone(to)
	return f
}

func newCNFService(name, fullname, port string) *v1alpha1.CNFService {
	s := &v1alpha1.CNFService{ObjectMeta: purposed(name)}
	s.Spec.FullName, s.Spec.Port = v1alpha1.Domain(fullname), v1alpha1.Port(port)
	return s
}

func newClusterService(name, address string, ports ...int32) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	s.Spec.ClusterIP = address
	for _, p := range ports {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Port: p, Name: fmt.Sprint("p", p)})
	}
	return s
}

// device is the spec of a device intent of the namespace shop for cnf1; nil when there is none.
func device[T any](t testing.TB, s *intent.Snapshot, of string) *T {
	t.Helper()
	e := s.DeviceIntent(intent.DeviceIntentID("shop/cnf1/" + of))
	if e == nil {
		return nil
	}
	spec, ok := e.Spec.(any).(*T)
	require.True(t, ok, "%T", e.Spec)
	return spec
}

// deviceIDs are the device intents that a change contains.
func deviceIDs(c *intent.Change) []string {
	var out []string
	for _, id := range c.DeviceIntents {
		out = append(out, strings.TrimPrefix(string(id), "shop/cnf1/"))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func messages(tr *translator.Translator) string {
	var out []string
	for _, p := range tr.Problems() {
		out = append(out, p.Error())
	}
	return strings.Join(out, "\n")
}

// TestReferencesFollowTheirObjects checks that a forwarding refers to a zone while it exists, and otherwise to the CNF's own.
func TestReferencesFollowTheirObjects(t *testing.T) {
	const id = intent.DeviceIntentID("shop/cnf1/FirewallZone/shop/lan")
	broken, gone, elsewhere, edited := newZone("lan"), newZone("lan"), newZone("lan"), newZone("lan")
	broken.Spec.Input = "accept"
	gone.DeletionTimestamp = &metav1.Time{}
	elsewhere.Labels = map[string]string{v1alpha1.LabelPurpose: "cnf2"}
	edited.Spec.Forward = "REJECT"
	tr, s := start(t, newForwarding("out", "lan", "wan"), newForwarding("other", "wan", "wan"))
	other := s.DeviceIntent("shop/cnf1/FirewallForwarding/shop/other")
	for _, step := range []struct {
		name    string
		do      func()
		want    intent.DeviceRef // zero: the forwarding is not there
		intents []string         // that changed
	}{
		{"the zone comes", func() { put(t, tr, newZone("lan")) }, intent.DeviceRef{ID: id}, []string{"FirewallForwarding/shop/out", "FirewallZone/shop/lan"}},
		{"it is edited", func() { put(t, tr, edited) }, intent.DeviceRef{ID: id}, []string{"FirewallZone/shop/lan"}},
		{"it cannot be read", func() { put(t, tr, broken) }, intent.DeviceRef{}, []string{"FirewallForwarding/shop/out", "FirewallZone/shop/lan"}},
		{"it can again", func() { put(t, tr, edited) }, intent.DeviceRef{ID: id}, []string{"FirewallForwarding/shop/out", "FirewallZone/shop/lan"}},
		{"it is to go", func() { put(t, tr, gone) }, intent.DeviceRef{Name: "lan"}, []string{"FirewallForwarding/shop/out", "FirewallZone/shop/lan"}},
		{"it is gone", func() { tr.Remove("FirewallZone", "shop", "lan") }, intent.DeviceRef{Name: "lan"}, []string{"FirewallZone/shop/lan"}},
		{"one for another CNF", func() { put(t, tr, elsewhere) }, intent.DeviceRef{Name: "lan"}, []string{"shop/cnf2/FirewallZone/shop/lan"}},
		{"it becomes ours", func() { put(t, tr, newZone("lan")) }, intent.DeviceRef{ID: id}, []string{
			"FirewallForwarding/shop/out", "FirewallZone/shop/lan", "shop/cnf2/FirewallZone/shop/lan",
		}},
		{"it goes for good", func() { tr.Remove("FirewallZone", "shop", "lan") }, intent.DeviceRef{Name: "lan"}, []string{"FirewallForwarding/shop/out", "FirewallZone/shop/lan"}},
	} {
		was := s
		step.do()
		s = tr.Snapshot()
		c := only(t, was, s)
		require.Equal(t, step.intents, deviceIDs(&c), step.name)
		require.Same(t, other, s.DeviceIntent(other.ID), step.name)
		f := device[intent.Forwarding](t, s, "FirewallForwarding/shop/out")
		if !step.want.Set() {
			require.Nil(t, f, step.name)
			require.Contains(t, messages(tr), "FirewallForwarding/shop/out: spec.src: FirewallZone/shop/lan is invalid")
			continue
		}
		require.Equal(t, step.want, f.From, step.name)
		require.Equal(t, step.want.ID != "", len(s.DeviceIntent("shop/cnf1/FirewallForwarding/shop/out").Needs) == 1, step.name)
		require.Empty(t, messages(tr), step.name)
	}
}

// TestGoneStays keeps the intent of an object that waits for its finalizer, as one that must not be there.
func TestGoneStays(t *testing.T) {
	tr, s := start(t, newZone("lan"))
	require.False(t, s.DeviceIntent("shop/cnf1/FirewallZone/shop/lan").Gone)
	gone := newZone("lan")
	gone.DeletionTimestamp, gone.Generation = &metav1.Time{}, 2
	put(t, tr, gone)
	e := tr.Snapshot().DeviceIntent("shop/cnf1/FirewallZone/shop/lan")
	require.True(t, e.Gone)
	require.Equal(t, int64(2), e.Generation)
	require.Equal(t, []string{"net-a"}, device[intent.Zone](t, tr.Snapshot(), "FirewallZone/shop/lan").Networks)
	tr.Remove("FirewallZone", "shop", "lan")
	require.Nil(t, tr.Snapshot().DeviceIntent(e.ID))
}

func TestServicesAreFollowed(t *testing.T) {
	const id = "CNFService/shop/front"
	tr, s := start(t, newCNFService("front", "web.shop.svc.cluster.local", "8080"))
	require.Nil(t, device[intent.LinkNAT](t, s, id))
	require.Contains(t, messages(tr), "spec.fullname: Service/shop/web does not exist")
	require.Empty(t, tr.Hosts(), "the API knows every Service")

	for _, address := range []string{"10.96.0.1", "10.96.0.2"} {
		put(t, tr, newClusterService("web", address, 80))
		s = tr.Snapshot()
		require.Equal(t, netip.MustParseAddr(address), device[intent.LinkNAT](t, s, id).Addr)
		require.Empty(t, messages(tr))
	}
	put(t, tr, newClusterService("web", "10.96.0.2", 80, 81))
	c := only(t, s, tr.Snapshot())
	require.Empty(t, c.DeviceIntents, "its ports do not matter")
	tr.Remove(object.KindService, "shop", "web")
	require.Nil(t, device[intent.LinkNAT](t, tr.Snapshot(), id))
}

// Of an object that goes everything goes, even what is not known.
func TestNothingIsLeftOpenOfWhatGoes(t *testing.T) {
	going := newCNFService("front", "cache.example.com", "8080")
	now := metav1.Now()
	going.DeletionTimestamp = &now
	_, s := start(t, going)
	require.Empty(t, slices.Collect(s.DeviceIntents()))
	going = newCNFService("front", "cache.example.com", "8080")
	_, s = start(t, going)
	require.Len(t, slices.Collect(s.DeviceIntents()), 1)
}

func TestHostsAreAskedFor(t *testing.T) {
	v4, v6 := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	low := netip.MustParseAddr("192.0.2.0")
	local := &v1alpha1.CNFLocalService{ObjectMeta: purposed("stay")}
	local.Spec.LocalService, local.Spec.RemoteService = "10.0.0.1", "Cache.example.com"
	tr, s := start(t, local, newCNFService("front", "cache.example.com", "8080"), newCNFService("back", "com.pany", "81"))
	require.Equal(t, []string{"cache.example.com", "com.pany"}, tr.Hosts(), "the second could be a Service and is not one")
	require.Len(t, slices.Collect(s.DeviceIntents()), 3)
	for e := range s.DeviceIntents() {
		require.True(t, e.Unknown, e.ID)
	}
	require.Contains(t, messages(tr), "cache.example.com has not been looked up yet")

	tr.SetHost("nobody.asked.com", []netip.Addr{v4})
	require.Same(t, s, tr.Snapshot())
	tr.SetHost("cache.example.com", []netip.Addr{v6, v4, low, v4})
	tr.SetHost("com.pany", nil)
	s = tr.Snapshot()
	for e := range s.DeviceIntents() {
		require.False(t, e.Unknown, e.ID)
	}
	require.Equal(t, low, device[intent.LinkNAT](t, s, "CNFService/shop/front").Addr, "the lowest, whatever their order")
	require.NotNil(t, device[intent.LinkNAT](t, s, "CNFLocalService/shop/stay/192.0.2.0"))
	require.NotNil(t, device[intent.LinkNAT](t, s, "CNFLocalService/shop/stay/192.0.2.1"))
	require.Equal(t, "CNFService/shop/back: spec.fullname: com.pany does not resolve to an IPv4 address", messages(tr))

	tr.SetHost("cache.example.com", []netip.Addr{low, v4})
	require.Same(t, s, tr.Snapshot(), "the same in another order")
	tr.SetHost("cache.example.com", []netip.Addr{v4})
	now := tr.Snapshot()
	c := only(t, s, now)
	require.Equal(t, []string{"CNFLocalService/shop/stay/192.0.2.0", "CNFService/shop/front"}, deviceIDs(&c))

	tr.Remove("CNFService", "shop", "front")
	tr.Remove("CNFService", "shop", "back")
	tr.Snapshot()
	require.Equal(t, []string{"cache.example.com"}, tr.Hosts(), "the other still wants it")
	tr.Remove("CNFLocalService", "shop", "stay")
	tr.Snapshot()
	require.Empty(t, tr.Hosts())
	put(t, tr, local)
	require.NotNil(t, device[intent.LinkNAT](t, tr.Snapshot(), "CNFLocalService/shop/stay/192.0.2.1"), "the last answer stays")
}

// TestUnusedAnswersAreDropped checks that they are not kept for ever.
func TestUnusedAnswersAreDropped(t *testing.T) {
	tr := translator.New(translator.Options{})
	for i := range 3000 {
		put(t, tr, newCNFService("front", fmt.Sprintf("host-%d.example.com", i), "80"))
		tr.Snapshot()
		require.Len(t, tr.Hosts(), 1)
		tr.SetHost(tr.Hosts()[0], []netip.Addr{netip.MustParseAddr("192.0.2.1")})
	}
	require.Less(t, translator.Answers(tr), 1100)
	require.NotNil(t, device[intent.LinkNAT](t, tr.Snapshot(), "CNFService/shop/front"))
}

// TestUnknownServices has DNS answer for Services that may not be listed.
func TestUnknownServices(t *testing.T) {
	tr, s := start(t, newCNFService("front", "web.shop.svc", "8080"))
	require.Zero(t, s.Unknown())
	tr.SetUnknown(intent.AreaBalancers)
	s = tr.Snapshot()
	require.Equal(t, intent.AreaBalancers, s.Unknown())
	require.Equal(t, []string{"web.shop.svc"}, tr.Hosts())
	tr.SetHost("web.shop.svc", []netip.Addr{netip.MustParseAddr("10.96.0.1")})
	require.NotNil(t, device[intent.LinkNAT](t, tr.Snapshot(), "CNFService/shop/front"))
	tr.SetUnknown(0)
	require.Nil(t, device[intent.LinkNAT](t, tr.Snapshot(), "CNFService/shop/front"))
	require.Empty(t, tr.Hosts())

	rules := translator.New(translator.Options{SDWAN: sdwan.Options{ServiceRules: sdwan.ServiceRulesLabelled}})
	rules.SetUnknown(intent.AreaBalancers)
	require.Equal(t, intent.AreaBalancers|intent.AreaDevices, rules.Snapshot().Unknown(), "device intents are made of Services")
}

// TestASiteThatIsItsSubnet is led into the tunnel once.
func TestASiteThatIsItsSubnet(t *testing.T) {
	site := &v1alpha1.CNFHubSite{ObjectMeta: purposed("site")}
	site.Spec = v1alpha1.CNFHubSiteSpec{Type: "Device", Site: "192.0.2.8", Subnet: "192.0.2.8/32", DevicePIP: "10.0.0.1"}
	tr, was := start(t, newZone("lan"))
	put(t, tr, site)
	c := only(t, was, tr.Snapshot())
	require.Equal(t, []intent.DeviceIntentID{
		"shop/cnf1/CNFHubSite/shop/site/route/192.0.2.8", "shop/cnf1/CNFHubSite/shop/site/nat/192.0.2.8",
	}, c.DeviceIntents)
}

func TestApplicationsFollowPods(t *testing.T) {
	app := &v1alpha1.SdewanApplication{ObjectMeta: purposed("app")}
	app.Spec.PodSelector.MatchLabels = map[string]string{"app": "web"}
	tr, s := start(t, app, newPod("a", "10.0.0.1", "web", nil), newPod("b", "10.0.0.2", "db", nil))
	set := device[intent.Application](t, s, "SdewanApplication/shop/app").Sources
	require.Equal(t, []netip.Addr{netip.MustParseAddr("10.0.0.1")}, s.Set(set).Addrs())

	put(t, tr, newPod("b", "10.0.0.2", "web", nil))
	now := tr.Snapshot()
	c := only(t, s, now)
	require.Empty(t, c.DeviceIntents, "pods cause no translation")
	require.Len(t, c.Members, 1)
	require.Len(t, now.Set(set).Addrs(), 2)

	app = app.DeepCopy()
	app.Spec.PodSelector.MatchLabels = map[string]string{"app": "db"}
	put(t, tr, app)
	next := tr.Snapshot()
	require.Nil(t, next.Set(set))
	require.Zero(t, next.Set(device[intent.Application](t, next, "SdewanApplication/shop/app").Sources).Len())
	tr.Remove("SdewanApplication", "shop", "app")
	require.Zero(t, tr.Snapshot().SetCount())
}

// TestClusterWide joins the CNFs of all namespaces.
func TestClusterWide(t *testing.T) {
	tr := translator.New(translator.Options{SDWAN: sdwan.Options{ClusterWide: true}})
	pod := newPod("cnf", "10.0.0.9", "cnf", nil)
	pod.Namespace, pod.Labels[v1alpha1.LabelPurpose] = "branch", "cnf1"
	np := newPolicy(t, "np", webToDB)
	np.Labels = map[string]string{v1alpha1.LabelPurpose: "cnf1"}
	put(t, tr, newZone("lan"), newForwarding("out", "lan", "wan"), pod, np)
	s := tr.Snapshot()
	scope := intent.Scope{Purpose: "cnf1"}
	require.Equal(t, scope, s.CNF("branch/cnf").Scope)
	require.Equal(t, scope, s.Policy("NetworkPolicy/shop/np/ingress").CNFs)
	require.Len(t, slices.Collect(s.DeviceIntentsOf(scope)), 2)
	require.Equal(t, intent.DeviceIntentID("/cnf1/FirewallZone/shop/lan"), intentOf(t, s, "/cnf1/FirewallForwarding/shop/out").From.ID)
}

func intentOf(t testing.TB, s *intent.Snapshot, id intent.DeviceIntentID) *intent.Forwarding {
	t.Helper()
	f, ok := s.DeviceIntent(id).Spec.(*intent.Forwarding)
	require.True(t, ok)
	return f
}

// TestDeviceIntentsInAnyOrder puts, changes and removes objects in random orders and compares with a translator that sees the end
// only; in the end everything goes, and nothing is left.
func TestDeviceIntentsInAnyOrder(t *testing.T) {
	objects := []any{}
	for _, dir := range []string{"sdwan-references", "sdwan-kinds", "sdwan-cnfs", "sdwan-services", "sdwan-broken"} {
		objects = append(objects, load(t, "testdata/"+dir+"/in.yaml")...)
	}
	options := translator.Options{SDWAN: sdwan.Options{ServiceRules: sdwan.ServiceRulesAll, ServicePurpose: "cnf1"}}
	text := func(tr *translator.Translator) string {
		tr.Snapshot()
		for _, h := range tr.Hosts() {
			tr.SetHost(h, []netip.Addr{netip.MustParseAddr("192.0.2.33"), netip.MustParseAddr("192.0.2.34")})
		}
		return snapshotText(tr.Snapshot()) + messages(tr)
	}
	scratch := func(objects []any) string {
		tr := translator.New(options)
		put(t, tr, objects...)
		return text(tr)
	}
	whole := scratch(objects)
	require.Contains(t, whole, "192.0.2.33")
	seeds.Each(t, "sdwan", func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		tr := translator.New(options)
		present := map[int]bool{}
		for range 150 {
			i := r.IntN(len(objects))
			if present[i] = r.IntN(3) > 0; present[i] {
				put(t, tr, objects[i])
			} else {
				remove(tr, objects[i])
			}
			if r.IntN(4) == 0 {
				tr.Snapshot()
			}
			if r.IntN(20) == 0 {
				text(tr)
			}
		}
		var left []any
		for i, o := range objects {
			if present[i] {
				left = append(left, o)
			}
		}
		require.Equal(t, scratch(left), text(tr), "seed %d", seed)
		for _, i := range r.Perm(len(objects)) {
			put(t, tr, objects[i])
		}
		require.Equal(t, whole, text(tr), "seed %d", seed)
		for _, i := range r.Perm(len(objects)) {
			remove(tr, objects[i])
		}
		require.Empty(t, text(tr), "seed %d", seed)
		require.Empty(t, tr.Hosts())
		require.True(t, translator.Empty(tr), "seed %d: something is left over", seed)
	})
}

func remove(tr *translator.Translator, object any) {
	o := object.(metav1.Object)
	kind := strings.TrimPrefix(fmt.Sprintf("%T", object), "*v1.")
	tr.Remove(strings.TrimPrefix(kind, "*v1alpha1."), o.GetNamespace(), o.GetName())
}
