package ovsdb_test

import (
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
)

func transact(t testing.TB, c *ovsdb.Client, ops ...libovsdb.Operation) {
	t.Helper()
	_, err := c.Transact(t.Context(), ops)
	require.NoError(t, err)
}

func refs(table string, names ...string) libovsdb.OvsSet {
	var uuids []string
	for _, n := range names {
		uuids = append(uuids, simulator.UUIDOf(table, n))
	}
	return ovsdb.UUIDs(uuids)
}

// insert adds a row whose uuid follows from its name.
func insert(table, name string, row libovsdb.Row) libovsdb.Operation {
	row["name"] = name
	return ovsdb.Insert(table, simulator.UUIDOf(table, name), row)
}

func TestTopology(t *testing.T) {
	server := startFake(t)
	opts := ovsdb.Options{Endpoints: []string{server.Addr()}, Database: "OVN_Northbound"}
	writer, client := connect(t, opts), connect(t, opts)
	require.Empty(t, client.Switches())
	require.Empty(t, client.Routers())
	links, err := client.Links(t.Context())
	require.NoError(t, err)
	require.Empty(t, links)

	version := client.TopologyVersion()
	grown := func() bool { return client.TopologyVersion() > version }
	transact(t, writer,
		insert("Logical_Switch", "b", libovsdb.Row{"external_ids": ovsdb.Map(map[string]string{"vpc": "blue"})}),
		insert("Logical_Switch", "a", libovsdb.Row{}),
		insert("Logical_Router", "r", libovsdb.Row{}))
	until(t, client, "the switches", grown)
	uuid := simulator.UUIDOf
	require.Equal(t, []ovsdb.Datapath{
		{UUID: uuid("Logical_Switch", "a"), Name: "a", ExternalIDs: map[string]string{}},
		{UUID: uuid("Logical_Switch", "b"), Name: "b", ExternalIDs: map[string]string{"vpc": "blue"}},
	}, client.Switches())
	require.Equal(t, []ovsdb.Datapath{
		{UUID: uuid("Logical_Router", "r"), Name: "r", ExternalIDs: map[string]string{}},
	}, client.Routers())

	version = client.TopologyVersion()
	transact(t, writer,
		insert("Logical_Router_Port", "r-b", libovsdb.Row{"mac": "02:00:00:00:00:01"}),
		ovsdb.Update("Logical_Router", uuid("Logical_Router", "r"), libovsdb.Row{"ports": refs("Logical_Router_Port", "r-b")}))
	until(t, client, "the router's port", grown)
	version = client.TopologyVersion()
	transact(t, writer,
		insert("Logical_Switch_Port", "b-r", libovsdb.Row{
			"type": "router", "options": ovsdb.Map(map[string]string{"router-port": "r-b"}),
		}),
		insert("Logical_Switch_Port", "pod", libovsdb.Row{}),
		ovsdb.Update("Logical_Switch", uuid("Logical_Switch", "b"), libovsdb.Row{"ports": refs("Logical_Switch_Port", "b-r", "pod")}))
	until(t, client, "the connection", grown)
	links, err = client.Links(t.Context())
	require.NoError(t, err)
	require.Equal(t, []ovsdb.Link{{Switch: uuid("Logical_Switch", "b"), Router: uuid("Logical_Router", "r")}}, links)

	uplinks, err := client.Uplinks(t.Context())
	require.NoError(t, err)
	require.Empty(t, uplinks)
	version = client.TopologyVersion()
	transact(t, writer, insert("Logical_Switch_Port", "out", libovsdb.Row{"type": "localnet"}),
		ovsdb.Update("Logical_Switch", uuid("Logical_Switch", "a"), libovsdb.Row{"ports": refs("Logical_Switch_Port", "out")}))
	until(t, client, "the port to the outside", grown)
	uplinks, err = client.Uplinks(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{uuid("Logical_Switch", "a")}, uplinks)

	version = client.TopologyVersion()
	transact(t, writer, ovsdb.Update("Logical_Switch", uuid("Logical_Switch", "a"), libovsdb.Row{
		"other_config": ovsdb.Map(map[string]string{"subnet": "10.0.0.0/24"}),
	}), ovsdb.Delete("Logical_Switch", uuid("Logical_Switch", "b")))
	until(t, client, "the switch to go", func() bool { return len(client.Switches()) == 1 }) // the rows of a transaction come one by one
	version = client.TopologyVersion()
	transact(t, writer, ovsdb.Update("Logical_Switch", uuid("Logical_Switch", "a"), libovsdb.Row{"ports": refs("Logical_Switch_Port")}))
	until(t, client, "the port to the outside to go", grown)
	uplinks, err = client.Uplinks(t.Context())
	require.NoError(t, err)
	require.Empty(t, uplinks)
	links, err = client.Links(t.Context())
	require.NoError(t, err)
	require.Empty(t, links)
}

func TestMutateMap(t *testing.T) {
	server := startFake(t)
	client := connect(t, ovsdb.Options{Endpoints: []string{server.Addr()}, Database: "OVN_Northbound"})
	uuid := simulator.UUIDOf("Load_Balancer", "lb")
	transact(t, client, insert("Load_Balancer", "lb", libovsdb.Row{
		"vips": ovsdb.Map(map[string]string{"10.0.0.1:80": "a", "10.0.0.2:80": "b", "10.0.0.3:80": "c"}),
	}))
	transact(t, client, ovsdb.MutateMap("Load_Balancer", uuid, "vips",
		map[string]string{"10.0.0.1:80": "new", "10.0.0.4:80": ""}, []string{"10.0.0.2:80", "10.0.0.9:80"}))
	rows, err := client.Select(t.Context(), "Load_Balancer", nil, "vips")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"10.0.0.1:80": "new", "10.0.0.3:80": "c", "10.0.0.4:80": ""},
		ovsdb.StringMap(rows[0]["vips"]))
	require.Empty(t, ovsdb.MutateMap("Load_Balancer", uuid, "vips", nil, nil).Mutations)
}
