package suggest_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/suggest"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/translator"
)

// stateOf translates objects, and returns a function that adds policies to them.
func stateOf(t *testing.T, objects []runtime.Object) (world.State, suggest.Apply) {
	t.Helper()
	translate := func(added []*networkingv1.NetworkPolicy) (world.State, error) {
		tr := translator.New(translator.Options{})
		var state world.State
		for _, o := range objects {
			require.NoError(t, tr.Put(o))
			state.Objects.Add(o)
		}
		for _, p := range added {
			require.NoError(t, tr.Put(p))
		}
		state.Snapshot, state.View = tr.Snapshot(), tr.View()
		return state, nil
	}
	state, err := translate(nil)
	require.NoError(t, err)
	return state, translate
}

func protocolOf(text string) corev1.Protocol { return corev1.Protocol(text) }

func portOf(f oracle.Flow) string {
	proto := strings.ToLower(string(f.Protocol))
	if f.Protocol == oracle.ICMP {
		if f.Dst.Addr.Is6() {
			return "icmp6"
		}
		return proto
	}
	return fmt.Sprintf("%s/%d", proto, f.Port)
}

// endsOf lists the addresses of the pods with a network of their own.
func endsOf(c *oracle.Cluster) []oracle.End {
	var out []oracle.End
	for _, p := range c.Pods {
		if p.Spec.HostNetwork || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		for _, ip := range p.Status.PodIPs {
			if a, err := netip.ParseAddr(ip.IP); err == nil {
				out = append(out, oracle.End{Pod: p.Namespace + "/" + p.Name, Addr: a})
			}
		}
	}
	return out
}
