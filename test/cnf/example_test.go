package cnf

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// TestTheExampleDoesWhatItSays applies the manifests of deploy/examples/sdwan, and sends packets through the device.
func TestTheExampleDoesWhatItSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCluster(t)
		defer c.Close()
		require.NoError(t, c.Network(workload{
			namespace: "edge", name: "cnf", purpose: "branch", networks: []string{"office", "fibre", "mobile"},
		}, 2))
		st := &stage{cluster: c}
		for _, file := range []string{"cnf", "tunnel", "wan", "firewall"} {
			for _, o := range read(t, "../../deploy/examples/sdwan/"+file+".yaml") {
				switch o.GetKind() {
				case "Pod":
				case "Secret": // an API server encodes what is given as text
					text := field(o.Object, "stringData")
					require.NoError(t, c.Apply(secret(o.GetNamespace(), o.GetName(), text)))
					for _, r := range c.devices.all() {
						if text["password"] != "" {
							r.device.SetPassword(text["password"])
						}
					}
				default:
					require.NoError(t, c.Apply(o))
				}
			}
		}
		c.Start()
		time.Sleep(rest)
		for _, file := range []string{"tunnel", "wan", "firewall"} {
			for _, o := range read(t, "../../deploy/examples/sdwan/"+file+".yaml") {
				require.NoError(t, st.status([]string{o.GetKind(), "edge/" + o.GetName(), "insync"}), c.log.recent())
			}
		}
		require.NoError(t, st.problem([]string{"none"}))
		require.NoError(t, st.same([]string{"edge/cnf-1", "edge/cnf-2"}))

		device := c.devices.of("edge/cnf-2").device
		addr := netip.MustParseAddr
		for _, tc := range []struct {
			name    string
			packet  simulator.Packet
			verdict simulator.Verdict
			wans    []string
			tunnel  bool
		}{
			{"the web, over both lines", simulator.Packet{In: "net0", Src: addr("172.16.70.9"), Dst: addr("203.0.113.5"), Proto: "tcp", SrcPort: 4000, DstPort: 443}, simulator.Accept, []string{"net1", "net2"}, false},
			{"a call, over the fibre", simulator.Packet{In: "net0", Src: addr("172.16.70.9"), Dst: addr("198.51.100.5"), Proto: "udp", SrcPort: 4000, DstPort: 5060}, simulator.Accept, []string{"net1"}, false},
			{"mail from a desk", simulator.Packet{In: "net0", Src: addr("172.16.70.9"), Dst: addr("203.0.113.5"), Proto: "tcp", SrcPort: 4000, DstPort: 25}, simulator.Reject, nil, false},
			{"something from outside", simulator.Packet{In: "net1", Src: addr("203.0.113.5"), Dst: addr("172.16.70.9"), Proto: "tcp", SrcPort: 4000, DstPort: 443}, simulator.Reject, nil, false},
			{"headquarters, in the tunnel", simulator.Packet{In: "net0", Src: addr("172.16.0.9"), Dst: addr("192.168.3.5"), Proto: "tcp", SrcPort: 4000, DstPort: 8080}, simulator.Accept, nil, true},
		} {
			got := device.Trace(tc.packet)
			require.Equal(t, tc.verdict, got.Verdict, "%s: %+v", tc.name, got)
			require.Equal(t, tc.wans, got.WANs, "%s: %+v", tc.name, got)
			require.Equal(t, tc.tunnel, got.Tunnel != "", "%s: %+v", tc.name, got)
		}

		device.SetDown("net1", true)
		got := device.Trace(simulator.Packet{In: "net0", Src: addr("172.16.70.9"), Dst: addr("198.51.100.5"), Proto: "udp", SrcPort: 4000, DstPort: 5060})
		require.Equal(t, "net2", got.Out, "without the fibre calls take the other line: %+v", got)
	})
}

// field is a mapping of texts in an object.
func field(o map[string]any, name string) map[string]string {
	out := map[string]string{}
	m, _ := o[name].(map[string]any)
	for k, v := range m {
		out[k], _ = v.(string)
	}
	return out
}
