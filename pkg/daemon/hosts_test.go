package daemon_test

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/watch"
)

// service is a CNFService as the API has it.
func (r *rig) service() v1alpha1.CNFServiceStatus {
	r.Helper()
	o, ok := r.source.Get(watch.Ref{Kind: watch.KindCNFService, Namespace: "site", Name: "shop"})
	require.True(r, ok)
	s, ok := o.(*v1alpha1.CNFService)
	require.True(r, ok)
	return s.Status
}

func (r *rig) dns(deaf error, name string, addrs ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deaf = deaf
	delete(r.hosts, name)
	for _, a := range addrs {
		r.hosts[name] = append(r.hosts[name], netip.MustParseAddr(a))
	}
}

func TestNamesAreLookedUpOverAndOver(t *testing.T) {
	inBubble(t, func(r *rig) {
		const name = "shop.example.org"
		r.cnf("cnf-0", "10.0.0.1")
		r.apply(&v1alpha1.CNFService{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: v1alpha1.CNFServiceSpec{
			FullName: name, Port: "2288", DPort: "8080",
		}})
		r.dns(nil, name, "::ffff:192.0.2.7")
		r.start()
		require.Equal(t, []string{"192.0.2.7", "2288", "8080", "In Sync"},
			[]string{r.service().SIP, r.service().Port, r.service().DPort, string(r.service().State)})
		require.Contains(t, r.devices["10.0.0.1"].Kernel(), "192.0.2.7:8080")

		r.dns(nil, name, "192.0.2.8")
		r.after(33 * time.Second)
		require.Equal(t, "192.0.2.8", r.service().SIP)
		r.dns(errors.New("no server answers"), name)
		r.after(2 * time.Minute)
		require.Equal(t, "192.0.2.8", r.service().SIP, "what DNS said before stands")
		require.Positive(t, r.metric("netloom_host_lookups_total", "failed"))
		r.dns(nil, name)
		r.after(33 * time.Second)
		require.Empty(t, r.service().SIP, "it has no address any more")
		require.NotContains(t, r.devices["10.0.0.1"].Kernel(), "192.0.2.8")
		r.dns(nil, name, "192.0.2.9")
		r.after(33 * time.Second)
		require.Equal(t, "192.0.2.9", r.service().SIP)

		r.remove("CNFService", "shop")
		r.after(time.Minute)
		before := r.metric("netloom_host_lookups_total", "")
		r.after(time.Hour)
		require.InDelta(t, before, r.metric("netloom_host_lookups_total", ""), 0, "nobody wants it any more")
	})
}

// What an earlier process made of names must not go only because this one has not asked yet.
func TestNothingIsPlannedForGatewaysBeforeDNSWasAsked(t *testing.T) {
	const name = "shop.example.org"
	for _, tc := range []struct {
		title  string
		mended bool
	}{{"DNS answers at last", true}, {"DNS never answers", false}} {
		t.Run(tc.title, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				device := r.cnf("cnf-0", "10.0.0.1")
				for full, named := range map[string]string{name: "shop", "10.9.9.9": "plain"} {
					r.apply(&v1alpha1.CNFService{ObjectMeta: metav1.ObjectMeta{Name: named}, Spec: v1alpha1.CNFServiceSpec{
						FullName: v1alpha1.Domain(full), Port: v1alpha1.Port(map[string]string{"shop": "2288", "plain": "2289"}[named]), DPort: "8080",
					}})
				}
				r.dns(errors.New("no server answers"), name)
				r.start()
				r.after(3 * time.Second)
				require.Empty(t, device.Requests(), "it was asked for before DNS had answered")
				if tc.mended {
					r.dns(nil, name, "192.0.2.7")
				}
				r.after(2 * time.Minute)
				require.Contains(t, device.Kernel(), "10.9.9.9:8080", "one name holds up the others for a while only")
				if tc.mended {
					require.Contains(t, device.Kernel(), "192.0.2.7:8080")
				}
			})
		})
	}
}
