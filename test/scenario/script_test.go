package scenario

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/script"
)

func TestFaultyScriptsAreRefused(t *testing.T) {
	const pods = "# x\npod red/a 10.0.0.1\npod red/b 10.0.0.2 fd00::2\npod red/six fd00::6\n"
	for _, tc := range []struct {
		name    string
		content string
		wantErr string
	}{
		{name: "nothing says what it shows", content: "pod red/a 10.0.0.1\n", wantErr: "what the script shows"},
		{name: "no step", content: "# x\n", wantErr: "does nothing"},
		{name: "unknown step", content: pods + "frob red/a\n", wantErr: "no such step"},
		{name: "step without a name", content: "# x\npod\n", wantErr: "expected a name"},
		{name: "pod without a namespace", content: "# x\npod a 10.0.0.1\n", wantErr: "namespace/name"},
		{name: "word that says nothing", content: "# x\npod red/a 10.0.0.300\n", wantErr: "says nothing"},
		{name: "port without a protocol", content: "# x\npod red/a :web=80\n", wantErr: "NAME=NUMBER/PROTOCOL"},
		{name: "file that is not there", content: "# x\napply p.yaml\n", wantErr: "no file"},
		{name: "file of another kind", content: "# x\napply p.yaml\n-- p.yaml --\nkind: Secret\n", wantErr: "expected objects of"},
		{name: "two files of one name", content: "# x\n-- p --\n-- p --\n", wantErr: "two files"},
		{name: "expectation before anything happened", content: "# x\nwrites 0\n", wantErr: "nothing has happened"},
		{name: "label that changes nothing", content: pods + "label pod red/a x-\n", wantErr: "changes nothing"},
		{name: "label of a pod that is not there", content: pods + "label pod red/z x=y\n", wantErr: "there is no pod"},
		{name: "delete of what is not there", content: pods + "delete policy red/p\n", wantErr: "there is no"},
		{name: "probe of a pod that is not there", content: pods + "probe red/z -> red/a tcp/80 deny\n", wantErr: "neither a pod"},
		{name: "probe of a pod by its address", content: pods + "probe 10.0.0.1 -> red/b tcp/80 deny\n", wantErr: "by name"},
		{name: "probe across families", content: pods + "probe red/a -> red/six tcp/80 deny\n", wantErr: "no address family"},
		{name: "probe without a verdict", content: pods + "probe red/a -> red/b tcp/80\n", wantErr: "expected FROM"},
		{name: "probe of an odd port", content: pods + "probe red/a -> red/b tcp deny\n", wantErr: "expected icmp or a port"},
		{name: "probe of a finished pod", content: pods + "finish red/a\nprobe red/a -> red/b tcp/80 deny\n", wantErr: "no address"},
		{name: "service without a namespace", content: "# x\nservice web 10.96.0.1\n", wantErr: "namespace/name"},
		{name: "service of an odd word", content: "# x\nservice red/web frob\n", wantErr: "says nothing"},
		{name: "service of an odd port", content: "# x\nservice red/web :80\n", wantErr: "[NAME=]NUMBER[:NODEPORT]/PROTOCOL"},
		{name: "service of an odd node port", content: "# x\nservice red/web :80:x/TCP\n", wantErr: "[NAME=]NUMBER[:NODEPORT]/PROTOCOL"},
		{name: "affinity that is no number", content: "# x\nservice red/web affinity=long\n", wantErr: "invalid syntax"},
		{name: "endpoints of an unknown pod", content: pods + "endpoints red/web red/z\n", wantErr: "neither a pod"},
		{name: "endpoints of an odd port", content: pods + "endpoints red/web :80\n", wantErr: "[NAME=]NUMBER/PROTOCOL"},
		{name: "endpoints of an odd condition", content: pods + "endpoints red/web red/a!tired\n", wantErr: "expected notready"},
		{name: "endpoints without a namespace", content: pods + "endpoints web red/a\n", wantErr: "expected namespace/service"},
		{name: "deletion of endpoints that are not there", content: pods + "delete endpoints red/web\n", wantErr: "there are no endpoints"},
		{name: "probe of a port that a service has not", content: pods + "service red/web 10.96.0.1 :80/TCP\n" +
			"probe red/a -> red/web:81 allow\n", wantErr: "expected FROM"},
		{name: "probe of a service of another family", content: pods + "service red/web fd00:96::1 :80/TCP\n" +
			"probe red/a -> red/web:80 allow\n", wantErr: "no address family"},
		{name: "probe by way of an unknown pod", content: pods + "probe red/a -> red/b tcp/80 allow via red/z\n", wantErr: "neither a pod"},
		{name: "fault that is no number", content: pods + "fault x\n", wantErr: "number of a write"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := script.Parse(tc.content)
			if err == nil {
				_, err = play(s)
			}
			require.ErrorContains(t, err, tc.wantErr)
		})
	}
}

func TestProbesTryEveryAddressTheEndsHaveInCommon(t *testing.T) {
	s, err := script.Parse("# x\npod red/a 10.0.0.1 fd00::1\npod red/b 10.0.0.2 fd00::2\n" +
		"probe red/a,red/b -> red/b,203.0.113.9 tcp/80,icmp allow\nprobe red/a -> red/b v6 udp/53 deny\n")
	require.NoError(t, err)
	moments, err := play(s)
	require.NoError(t, err)
	require.Len(t, moments, 2)
	probes := moments[1].probes
	require.Len(t, probes, 2)
	// a to b in two families, a to the outside, b to itself in two families, b to the outside; two shots each.
	require.Len(t, probes[0].flows, 12)
	require.Equal(t, allow, probes[0].outcome)
	require.Len(t, probes[1].flows, 1)
	require.Equal(t, intent.UDP, probes[1].flows[0].Protocol)
	require.Equal(t, "fd00::2", probes[1].flows[0].Dst.Addr.String())
	require.Equal(t, deny, probes[1].outcome)
}

func TestServicesAndEndpointsAsWritten(t *testing.T) {
	s, err := script.Parse(`# x
node n1 10.0.0.1 zone=east
pod red/a @n1 10.0.1.1 fd00::1
service red/web 10.96.0.1 fd00:96::1 :http=80:30080/TCP :dns=53/UDP NodePort outside=Local internal=Local affinity=60 created=2001 x=y network=blue
endpoints red/web/one :http=8080/TCP red/a~n1+east 10.9.9.9@n2!draining
probe red/a,203.0.113.9@n1 -> red/web:http v4 in blue some via red/a:8080,!10.9.9.9
delete endpoints red/web/one
`)
	require.NoError(t, err)
	moments, err := play(s)
	require.NoError(t, err)
	require.Len(t, moments, 5)
	last, gone := moments[3], moments[4]
	slice := string(last.objects[object.Ref{Kind: object.KindEndpointSlice, Namespace: "red", Name: "web.one.v4"}])
	require.Contains(t, slice, "forNodes:\n    - name: n1\n    forZones:\n    - name: east")
	require.Contains(t, slice, "terminating: true")
	require.Contains(t, slice, "nodeName: n2")
	require.Len(t, last.objects, 5)
	require.Len(t, gone.objects, 3)
	service := string(last.objects[object.Ref{Kind: object.KindService, Namespace: "red", Name: "web"}])
	for _, want := range []string{
		"nodePort: 30080", "protocol: UDP", "externalTrafficPolicy: Local", "internalTrafficPolicy: Local", "timeoutSeconds: 60",
		"creationTimestamp: \"2001-01-01T00:00:00Z\"", "x: \"y\"", "netloom.io/network: blue", "clusterIP: 10.96.0.1", "- fd00:96::1",
	} {
		require.Contains(t, service, want)
	}
	p := last.probes[0]
	require.Equal(t, some, p.outcome)
	require.Len(t, p.flows, 2)
	require.Equal(t, "n1 blue", p.flows[0].Node+" "+p.flows[0].Network)
	require.Equal(t, "n1 10.96.0.1", p.flows[1].Node+" "+p.flows[1].Dst.Addr.String())
	a, b := netip.MustParseAddrPort("10.0.1.1:8080"), netip.MustParseAddrPort("10.9.9.9:1")
	require.True(t, p.meets(balanced([]choice{{a, true}, {b, false}})))
	require.False(t, p.meets(balanced([]choice{{a, false}, {b, true}})))
	require.False(t, p.meets(balanced([]choice{{b, true}, {b, false}})))
	require.False(t, p.meets(balanced([]choice{{netip.AddrPortFrom(a.Addr(), 80), true}, {b, false}})))
	require.False(t, p.meets(balanced([]choice{{a, true}, {b, false}, {netip.MustParseAddrPort("10.9.9.8:1"), true}})))
	require.False(t, p.meets(plain(true)))
}
