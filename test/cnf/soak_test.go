package cnf

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/seeds"
)

// What the soak is like. `go test` alone runs a short one.
var (
	soakFunctions = flag.Int("cnf.functions", 3, "CNFs of the soak")
	soakReplicas  = flag.Int("cnf.replicas", 2, "replicas of each")
	soakResources = flag.Int("cnf.resources", 25, "resources for each")
	soakRounds    = flag.Int("cnf.rounds", 15, "rounds of changes and faults")
)

// TestSoak changes resources at random while devices, replicas, the API and the controller fail. When all is well again,
// every replica has what a new device gets from the same resources, and every status says so.
func TestSoak(t *testing.T) {
	seeds.Each(t, "cnf", soaked)
}

func soaked(t *testing.T, seed uint64) {
	var devices, fresh map[string]string
	var resources []resourceText
	synctest.Test(t, func(t *testing.T) {
		s := newSoak(t, seed)
		defer s.cluster.Close()
		s.run()
		devices, resources = s.state(), s.resources()
	})
	synctest.Test(t, func(t *testing.T) {
		c := NewCluster(t)
		defer c.Close()
		for i := range *soakFunctions {
			require.NoError(t, c.Network(function(i), 1))
		}
		for _, r := range resources {
			list, err := objects(r.text)
			require.NoError(t, err)
			require.NoError(t, c.Apply(list...))
		}
		c.Start()
		time.Sleep(time.Minute)
		fresh = map[string]string{}
		for _, r := range c.devices.all() {
			fresh[r.namespace] = strings.Join(managedSections(r.device.Export()), "\n")
		}
	})
	for key, text := range devices {
		namespace, _ := two(key)
		require.Equal(t, fresh[namespace], text, "%s, beside a new device", key)
	}
}

// function is the CNF of a number, in a namespace of its own.
func function(i int) workload {
	return workload{namespace: fmt.Sprintf("site-%d", i), name: "cnf", purpose: "edge"}
}
