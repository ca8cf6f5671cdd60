package intent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTouchedSince collects what changed over several revisions.
func TestTouchedSince(t *testing.T) {
	b := NewSnapshot().Next()
	b.CreateSet(&Set{ID: "staff", Members: people{}})
	one := b.Commit()

	b = one.Next()
	b.UpdateMembers(people{someone("x", "10.0.0.1")}, SetDelta{ID: "staff", Joined: []Endpoint{someone("x", "10.0.0.1")}})
	b.PutPolicy(&Policy{ID: "p"})
	b.SetFamilies(IPv4)
	two := b.Commit()

	b = two.Next()
	b.CreateSet(&Set{ID: "guests"})
	b.PutLoadBalancer(&LoadBalancer{ID: "lb"})
	b.PutCNF(&CNF{ID: "gw"})
	b.PutDeviceIntent(&DeviceIntent{ID: "device"})
	b.SetUnknown(AreaDevices)
	b.PutPolicy(&Policy{ID: "p", Isolates: true})
	three := b.Commit()

	touched, known := three.TouchedSince(1)
	require.True(t, known)
	require.Equal(t, Touched{
		Sets: map[SetID]bool{"staff": true, "guests": true}, Policies: map[PolicyID]bool{"p": true},
		LoadBalancers: map[LoadBalancerID]bool{"lb": true}, DeviceIntents: map[DeviceIntentID]bool{"device": true},
		CNFs: map[CNFID]bool{"gw": true}, Families: true, Unknown: true,
	}, touched)

	touched, known = three.TouchedSince(3)
	require.True(t, known)
	require.Empty(t, touched.Sets)
	require.False(t, touched.Families || touched.Unknown)

	_, known = three.TouchedSince(0)
	require.False(t, known)
	_, known = two.TouchedSince(3)
	require.False(t, known, "of the future")
}
