package bench

import (
	"context"
	"encoding/json"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/translator"
)

// rig is the pipeline from objects to a database, without a loop around it.
type rig struct {
	translator *translator.Translator
	backend    *ovn.Backend
	client     *ovsdb.Client
	reached    intent.Revision
}

// newRig connects a pipeline of its own, as a new process would.
func newRig(tb testing.TB, endpoint string) *rig {
	tb.Helper()
	client, err := ovsdb.New(ovsdb.Options{Endpoints: []string{endpoint}})
	require.NoError(tb, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- client.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		<-done
	})
	await.True(tb, client.Connected, "the client is connected")
	names, err := ovn.ParsePortNames(ovn.DefaultPortNames)
	require.NoError(tb, err)
	backend, err := ovn.New(client, ovn.Options{Owner: "bench", Ports: names})
	require.NoError(tb, err)
	return &rig{translator: translator.New(translator.Options{PartsOnly: true}), backend: backend, client: client}
}

// load puts every object of a cluster.
func (r *rig) load(tb testing.TB, c *oracle.Cluster) {
	tb.Helper()
	for _, o := range c.Namespaces {
		require.NoError(tb, r.translator.Put(o))
	}
	for _, o := range c.Nodes {
		require.NoError(tb, r.translator.Put(o))
	}
	for _, o := range c.Pods {
		require.NoError(tb, r.translator.Put(o))
	}
	for _, o := range c.Policies {
		require.NoError(tb, r.translator.Put(o))
	}
	for _, o := range c.Services {
		require.NoError(tb, r.translator.Put(o))
	}
	for _, o := range c.Slices {
		require.NoError(tb, r.translator.Put(o))
	}
}

// sync brings the database to the current objects and returns what was written.
func (r *rig) sync(tb testing.TB) *backends.Plan {
	tb.Helper()
	return r.write(tb, r.translator.Snapshot())
}

// follow does the same as the daemon does after a change: policies that did not change are divided again later.
func (r *rig) follow(tb testing.TB) *backends.Plan {
	tb.Helper()
	return r.write(tb, r.translator.Interim(0))
}

// write brings the database to a snapshot and returns what was written.
func (r *rig) write(tb testing.TB, snapshot *intent.Snapshot) *backends.Plan {
	tb.Helper()
	plan, err := r.backend.Plan(tb.Context(), snapshot, r.reached)
	require.NoError(tb, err)
	if !plan.Empty() {
		require.NoError(tb, r.backend.Apply(tb.Context(), plan))
	}
	r.reached = snapshot.Revision()
	return plan
}

// relabel gives a pod another value for a label.
func relabel(pod *corev1.Pod, key, value string) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Labels[key] = value
	return pod
}

// without is a slice that lost its last endpoint.
func without(slice *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	slice = slice.DeepCopy()
	slice.Endpoints = slice.Endpoints[:len(slice.Endpoints)-1]
	return slice
}

// size is how many bytes the operations of a plan are as JSON.
func size(tb testing.TB, plan *backends.Plan) int {
	tb.Helper()
	native, err := ovn.Transactions(plan)
	require.NoError(tb, err)
	n := 0
	for _, group := range native {
		text, err := json.Marshal(group)
		require.NoError(tb, err)
		n += len(text)
	}
	return n
}

// makePorts adds the logical ports of all pods to one switch, in portions.
func makePorts(tb testing.TB, client *ovsdb.Client, c *oracle.Cluster) {
	tb.Helper()
	const sw, portion = "7f0e4b5c-5b4c-4d0b-9c5e-0d2f6d0f0001", 1000
	_, err := client.Transact(tb.Context(), []libovsdb.Operation{
		ovsdb.Insert("Logical_Switch", sw, libovsdb.Row{"name": "bench"}),
	})
	require.NoError(tb, err)
	for start := 0; start < len(c.Pods); start += portion {
		var ops []libovsdb.Operation
		var ports []libovsdb.UUID
		for _, p := range c.Pods[start:min(start+portion, len(c.Pods))] {
			name := p.Namespace + "_" + p.Name
			id := portUUID(name)
			ops = append(ops, ovsdb.Insert("Logical_Switch_Port", id, libovsdb.Row{
				"name": name, "addresses": ovsdb.Set([]string{"dynamic"}),
			}))
			ports = append(ports, libovsdb.UUID{GoUUID: id})
		}
		_, err := client.Transact(tb.Context(), append(ops, ovsdb.MutateSet("Logical_Switch", sw, "ports", ports, nil)))
		require.NoError(tb, err)
	}
	if len(c.Pods) == 0 {
		return
	}
	last := c.Pods[len(c.Pods)-1]
	await.True(tb, func() bool {
		_, ok := client.Port(last.Namespace + "_" + last.Name)
		return ok
	}, "the client knows the port of the last pod")
}
