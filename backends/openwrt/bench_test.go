package openwrt_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
)

// many is two zones and n rules between them, each for a port of its own.
func many(n, port int) []*intent.DeviceIntent {
	lan, wan := of("FirewallZone", "lan", &intent.Zone{Networks: []string{"lan"}}), of("FirewallZone", "wan", &intent.Zone{Networks: []string{"wan1"}})
	out := []*intent.DeviceIntent{lan, wan}
	for i := range n {
		out = append(out, of("FirewallRule", fmt.Sprintf("r-%d", i), &intent.FirewallRule{
			From: ref(lan), To: ref(wan), Decides: intent.Drop,
			Match: intent.Match{Protocol: "tcp", DstPort: uint16(port + i)},
		}, lan, wan))
	}
	return out
}

// BenchmarkHundredChanges rewrites a hundred rules of a thousand; requests and reloads are what the device is asked.
func BenchmarkHundredChanges(b *testing.B) {
	r := newRig(b)
	all := many(1000, 1)
	r.put(all...)
	r.reconcile(b)
	for i := 0; b.Loop(); i++ {
		r.put(many(100, 2000+i%2)[2:]...)
		r.device.Reset()
		r.reconcile(b)
		b.ReportMetric(float64(len(r.device.Requests())), "requests")
		b.ReportMetric(float64(len(r.device.Actions())), "reloads")
	}
}

// BenchmarkMember lets a pod come and go in an application, beside a thousand rules.
func BenchmarkMember(b *testing.B) {
	r := newRig(b)
	r.put(many(1000, 1)...)
	r.put(of("SdewanApplication", "app", &intent.Application{Sources: "pods"}))
	r.set("pods", "10.0.0.1", "10.0.0.2")
	r.reconcile(b)
	for i := 0; b.Loop(); i++ {
		r.set("pods", "10.0.0.1", netip.AddrFrom4([4]byte{10, 0, 1, byte(i%200 + 1)}).String())
		r.device.Reset()
		r.reconcile(b)
		require.Len(b, r.device.Requests(), 1)
	}
}

// BenchmarkReadBack looks at a thousand rules that are as they should be.
func BenchmarkReadBack(b *testing.B) {
	r := newRig(b)
	r.put(many(1000, 1)...)
	r.reconcile(b)
	for b.Loop() {
		r.device.Reset()
		require.Empty(b, r.readBack(b).Ops)
		b.ReportMetric(float64(len(r.device.Requests())), "requests")
	}
}

// BenchmarkElsewhere is a change that does not concern the CNF.
func BenchmarkElsewhere(b *testing.B) {
	r := newRig(b)
	r.put(many(1000, 1)...)
	r.set("else", "10.0.0.1")
	r.reconcile(b)
	for i := 0; b.Loop(); i++ {
		r.set("else", netip.AddrFrom4([4]byte{10, 0, 1, byte(i%200 + 1)}).String())
		require.Empty(b, r.reconcile(b).Ops)
	}
}
