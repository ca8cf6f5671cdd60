//go:build e2e

package e2ekube_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

const service = `
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: web}
spec:
  selector: {app: web}
  ipFamilyPolicy: RequireDualStack
  ports: [{name: http, port: 8000, targetPort: http}]
`

// TestServices follows Services from the API server, which gives them their addresses, and from the controller that makes
// their slices, into load balancers of a real OVN.
func TestServices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.peopled()
	w.kube.Apply(service)
	w.loadBalances("web", web, web2)

	t.Log("an endpoint that is not ready goes")
	w.status(web2, "Pending")
	w.loadBalances("web", web)

	t.Log("and the last one, so that clients are refused")
	w.remove(web)
	w.loadBalances("web")
	w.status(web2, "Running")
	w.loadBalances("web", web2)

	t.Log("policies look at the backend behind the address")
	w.kube.Apply(policies)
	w.converge()
	got := w.ask("web", prober)
	require.Equal(t, web2.port(), got[0].Delivered, "the prober may look at http of the shop")
	for _, b := range w.ask("web", db) {
		require.Equal(t, []netip.AddrPort{netip.AddrPortFrom(web2.addr(b.Backends[0].Addr().Is6()), 80)}, b.Backends)
		require.Empty(t, b.Delivered, "no other pod may")
	}

	t.Log("a service is deleted")
	require.NoError(t, w.kube.Client().CoreV1().Services("shop").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	await.True(t, func() bool {
		return strings.TrimSpace(w.ovn.NBCtl("--bare", "--columns=name", "find", "Load_Balancer", "external_ids:netloom.io/namespace=shop")) == ""
	}, "its load balancer is gone")
}

// ask sends a packet from a place to every address of a service.
func (w *world) ask(name string, from pod) []ovnlab.Balanced {
	w.t.Helper()
	s, err := w.kube.Client().CoreV1().Services("shop").Get(w.t.Context(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	require.Len(w.t, s.Spec.ClusterIPs, 2)
	w.ovn.Sync()
	tracer := w.ovn.Tracer()
	defer tracer.Close()
	var all []ovnlab.Balanced
	for _, text := range s.Spec.ClusterIPs {
		dst := netip.MustParseAddr(text)
		all = append(all, tracer.Balance(ovnlab.Flow{Src: from.addr(dst.Is6()), Dst: dst, Protocol: "tcp", Port: uint16(s.Spec.Ports[0].Port)}))
	}
	return all
}

// loadBalances waits until packets to every address of a service go to the http ports of the places, or are refused when
// there is none.
func (w *world) loadBalances(name string, to ...pod) {
	w.t.Helper()
	var got []ovnlab.Balanced
	wrong := ""
	await.True(w.t, func() bool {
		w.netloom.Running()
		got, wrong = w.ask(name, prober), ""
		for i, b := range got {
			var want []netip.AddrPort
			for _, p := range to {
				want = append(want, netip.AddrPortFrom(p.addr(i == 1), 80))
			}
			if fmt.Sprint(b.Backends) != fmt.Sprint(want) || b.Refused != (len(to) == 0) {
				wrong = fmt.Sprintf("%+v, not %v", b, want)
			}
		}
		return wrong == ""
	}, "%s goes to %v", name, to)
}
