package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
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
		{name: "file of another kind", content: "# x\napply p.yaml\n-- p.yaml --\nkind: Secret\n", wantErr: "expected NetworkPolicies"},
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
		{name: "fault that is no number", content: pods + "fault x\n", wantErr: "number of a write"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := parse(tc.content)
			if err == nil {
				_, err = play(s)
			}
			require.ErrorContains(t, err, tc.wantErr)
		})
	}
}

func TestProbesTryEveryAddressTheEndsHaveInCommon(t *testing.T) {
	s, err := parse("# x\npod red/a 10.0.0.1 fd00::1\npod red/b 10.0.0.2 fd00::2\n" +
		"probe red/a,red/b -> red/b,203.0.113.9 tcp/80,icmp allow\nprobe red/a -> red/b v6 udp/53 deny\n")
	require.NoError(t, err)
	moments, err := play(s)
	require.NoError(t, err)
	require.Len(t, moments, 2)
	probes := moments[1].probes
	require.Len(t, probes, 2)
	// a to b in two families, a to the outside, b to itself in two families, b to the outside; two shots each.
	require.Len(t, probes[0].flows, 12)
	require.True(t, probes[0].allow)
	require.Len(t, probes[1].flows, 1)
	require.Equal(t, intent.UDP, probes[1].flows[0].Protocol)
	require.Equal(t, "fd00::2", probes[1].flows[0].Dst.Addr.String())
	require.False(t, probes[1].allow)
}
