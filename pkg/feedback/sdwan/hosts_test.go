package sdwan_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/object"
)

// service is a CNFService as the API has it.
func (r *rig) service() v1alpha1.CNFServiceStatus {
	r.Helper()
	o, ok := r.Source.Get(object.Ref{Kind: "CNFService", Namespace: "site", Name: "shop"})
	require.True(r, ok)
	s, ok := o.(*v1alpha1.CNFService)
	require.True(r, ok)
	return s.Status
}

func TestNamesAreLookedUpOverAndOver(t *testing.T) {
	inBubble(t, func(r *rig) {
		const name = "shop.example.org"
		r.CNF("cnf-0", "10.0.0.1")
		r.Apply(&v1alpha1.CNFService{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: v1alpha1.CNFServiceSpec{
			FullName: name, Port: "2288", DPort: "8080",
		}})
		r.DNS(nil, name, "::ffff:192.0.2.7")
		r.start()
		require.Equal(t, []string{"192.0.2.7", "2288", "8080", "In Sync"},
			[]string{r.service().SIP, r.service().Port, r.service().DPort, string(r.service().State)})
		require.Contains(t, r.Devices["10.0.0.1"].Kernel(), "192.0.2.7:8080")

		r.DNS(nil, name, "192.0.2.8")
		r.After(33 * time.Second)
		require.Equal(t, "192.0.2.8", r.service().SIP)
		r.DNS(errors.New("no server answers"), name)
		r.After(2 * time.Minute)
		require.Equal(t, "192.0.2.8", r.service().SIP, "the previous answer of DNS stays")
		require.Positive(t, r.Metric("netloom_host_lookups_total", "failed"))
		r.DNS(nil, name)
		r.After(33 * time.Second)
		require.Empty(t, r.service().SIP, "it has no address any more")
		require.NotContains(t, r.Devices["10.0.0.1"].Kernel(), "192.0.2.8")
		r.DNS(nil, name, "192.0.2.9")
		r.After(33 * time.Second)
		require.Equal(t, "192.0.2.9", r.service().SIP)

		r.Remove("CNFService", "shop")
		r.After(time.Minute)
		before := r.Metric("netloom_host_lookups_total", "")
		r.After(time.Hour)
		require.InDelta(t, before, r.Metric("netloom_host_lookups_total", ""), 0, "it is not needed any more")
	})
}

// What an earlier process made of names must not be removed only because DNS has not answered this one yet.
func TestWhatWasMadeOfNamesStaysUntilDNSAnswers(t *testing.T) {
	const name = "shop.example.org"
	dead := errors.New("no server answers")
	for _, tc := range []struct {
		title  string
		answer func(*rig)
		want   bool // what was made of the name is still there
	}{
		{"DNS never answers", func(*rig) {}, true},
		{"DNS answers as before at last", func(r *rig) { r.DNS(nil, name, "192.0.2.7") }, true},
		{"the name does not exist any more", func(r *rig) { r.DNS(nil, name) }, false},
		{"the name has another address", func(r *rig) { r.DNS(nil, name, "192.0.2.8") }, false},
		{"its object goes", func(r *rig) { r.Remove("CNFService", "shop") }, false},
	} {
		t.Run(tc.title, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				device := r.CNF("cnf-0", "10.0.0.1")
				cnfService := func(full, named, port string) {
					r.Apply(&v1alpha1.CNFService{ObjectMeta: metav1.ObjectMeta{Name: named}, Spec: v1alpha1.CNFServiceSpec{
						FullName: v1alpha1.Domain(full), Port: v1alpha1.Port(port), DPort: "8080",
					}})
				}
				cnfService(name, "shop", "2288")
				cnfService("10.9.9.8", "gone", "2287")
				r.DNS(nil, name, "192.0.2.7")
				r.start()
				require.Contains(t, device.Kernel(), "192.0.2.7:8080")
				r.stop()

				r.DNS(dead, name)
				cnfService("10.9.9.9", "plain", "2289")
				r.start()
				r.After(10 * time.Minute)
				require.Contains(t, device.Kernel(), "192.0.2.7:8080", "DNS has not said that it is gone")
				require.Contains(t, device.Kernel(), "10.9.9.9:8080", "one name does not delay the others")
				require.Contains(t, r.service().Message, "has not been looked up yet")

				tc.answer(r)
				r.After(time.Minute)
				if tc.want {
					require.Contains(t, device.Kernel(), "192.0.2.7:8080")
				} else {
					require.NotContains(t, device.Kernel(), "192.0.2.7:8080")
				}
				require.Contains(t, device.Kernel(), "10.9.9.9:8080")
			})
		})
	}
}
