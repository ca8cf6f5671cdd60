package ovsdb_test

import (
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
)

// TestPortsThatSwapNames renames rows in place: each name reports the rows that left it, also over a lost connection.
func TestPortsThatSwapNames(t *testing.T) {
	server := startFake(t)
	require.NoError(t, server.AddSwitch("ls"))
	require.NoError(t, server.AddPort("ls", "a", nil))
	require.NoError(t, server.AddPort("ls", "b", nil))
	a, b := simulator.UUIDOf("Logical_Switch_Port", "a"), simulator.UUIDOf("Logical_Switch_Port", "b")
	client := connect(t, ovsdb.Options{Endpoints: []string{server.Addr()}})
	require.Equal(t, []ovsdb.PortChange{{Name: "a"}, {Name: "b"}}, client.PortChanges())
	name := func(uuid, name string) libovsdb.Operation {
		return ovsdb.Update("Logical_Switch_Port", uuid, libovsdb.Row{"name": name})
	}
	names := func(what, uuid string) func() bool {
		return func() bool { is, _ := client.Port(what); return is == uuid }
	}

	_, err := server.Transact(name(a, "b"), name(b, "a"))
	require.NoError(t, err)
	until(t, client, "the names are swapped", func() bool { return names("a", b)() && names("b", a)() })
	require.Equal(t, []ovsdb.PortChange{{Name: "a", Left: []string{a}}, {Name: "b", Left: []string{b}}}, client.PortChanges())
	require.Empty(t, client.PortChanges())

	server.Drop()
	_, err = server.Transact(name(a, "c"))
	require.NoError(t, err)
	until(t, client, "the name is another after the loss", names("c", a))
	require.Equal(t, []ovsdb.PortChange{{Name: "b", Left: []string{a}}, {Name: "c"}}, client.PortChanges())
}
