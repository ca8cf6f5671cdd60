package tungsten_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	simulator "github.com/netloom/netloom/pkg/simulator/tungsten"
	"github.com/netloom/netloom/pkg/tungsten"
)

// manager is the name of the parent of global policies.
const manager = "default-policy-management"

// newServer starts a simulated server.
func newServer(t *testing.T, opts simulator.Options) *simulator.Server {
	t.Helper()
	s := simulator.New(opts)
	t.Cleanup(s.Close)
	return s
}

// connect makes a client of s.
func connect(t *testing.T, s *simulator.Server, change func(*tungsten.Options)) *tungsten.Client {
	t.Helper()
	opts := tungsten.Options{URLs: []string{"http://controller:8082"}, Dial: s.Dial, Timeout: 20 * time.Second}
	if change != nil {
		change(&opts)
	}
	c, err := tungsten.New(opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func password(p string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return p, nil }
}

// label is a global label.
func label(value string) *tungsten.Object {
	return &tungsten.Object{Kind: tungsten.KindTag, FQName: []string{"label=" + value}, TagTypeName: "label", TagValue: value}
}

// group is an address group.
func group(name string) *tungsten.Object {
	return &tungsten.Object{Kind: tungsten.KindAddressGroup, FQName: []string{manager, name}, ParentType: tungsten.KindPolicyManagement}
}

// create makes an object and returns its UUID.
func create(t *testing.T, c *tungsten.Client, o *tungsten.Object) string {
	t.Helper()
	uuid, err := c.Create(t.Context(), o)
	require.NoError(t, err)
	require.NotEmpty(t, uuid)
	return uuid
}
