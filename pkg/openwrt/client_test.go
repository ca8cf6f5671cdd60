package openwrt_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/openwrt"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// TestLifeCycle makes, reads, changes and deletes an object of every kind, and leaves the device as it was.
func TestLifeCycle(t *testing.T) {
	d := newDevice(t, simulator.Options{TLS: true, Strict: true})
	c := connect(t, d, nil)
	ctx := t.Context()
	before := d.Export("mwan3", "firewall", "network")
	for _, r := range everything() {
		want := openwrt.ObjectOf(r)
		_, err := c.Get(ctx, r.Kind(), want.Name())
		require.True(t, openwrt.IsNotFound(err), "%v", err)
		kept, err := c.Create(ctx, r.Kind(), want)
		require.NoError(t, err)
		require.Equal(t, want, kept)
	}
	for _, r := range everything() {
		want := openwrt.ObjectOf(r)
		for range 2 {
			kept, err := c.Put(ctx, r.Kind(), want)
			require.NoError(t, err)
			require.Equal(t, want, kept)
		}
		got, err := c.Get(ctx, r.Kind(), want.Name())
		require.NoError(t, err)
		require.Equal(t, want, got)
		list, err := c.List(ctx, r.Kind())
		require.NoError(t, err)
		require.Contains(t, list, want)
	}
	for _, r := range slices.Backward(everything()) {
		require.NoError(t, c.Delete(ctx, r.Kind(), openwrt.ObjectOf(r).Name()))
		require.True(t, openwrt.IsNotFound(c.Delete(ctx, r.Kind(), openwrt.ObjectOf(r).Name())))
	}
	for _, k := range openwrt.Kinds() {
		list, err := c.List(ctx, k)
		require.NoError(t, err)
		require.Empty(t, list)
	}
	require.Equal(t, before, d.Export("mwan3", "firewall", "network"))
	require.Empty(t, d.Kernel())
	require.Equal(t, int64(1), c.Stats().Logins)
	require.Equal(t, c.Stats().Requests, int64(len(d.Requests())))
	require.Equal(t, 1, d.Connections(), "one at a time needs one connection")
}

// TestOrderingFacts checks that some refusals say that another write has to come first.
func TestOrderingFacts(t *testing.T) {
	missing, inUse := openwrt.IsDependencyMissing, openwrt.IsInUse
	for _, tc := range []struct {
		name      string
		make      openwrt.Resource
		is        func(error) bool
		what, who string
	}{
		{"a rule of a policy", openwrt.PolicyRule{Name: "r", Policy: "nix"}, missing, "Policy", "nix"},
		{"a policy of an interface", openwrt.Policy{Name: "p", Members: []openwrt.Member{{"net9", "1", "1"}}}, missing, "Interface", "net9"},
		{"a zone of a network", openwrt.Zone{Name: "z", Network: []string{"net9"}}, missing, "Interface", "net9"},
		{"a rule of a zone", openwrt.FirewallRule{Name: "r", Src: "nix"}, missing, "Zone", "nix"},
		{"a redirect of a zone", openwrt.Redirect{Name: "r", Dest: "nix"}, missing, "Zone", "nix"},
		{"a remote of a proposal", openwrt.Remote{Name: "r", CryptoProposal: []string{"nix"}}, missing, "Proposal", "nix"},
		{"a connection of a proposal", openwrt.Remote{Name: "r", Connections: []openwrt.Connection{{Name: "c", CryptoProposal: []string{"nix"}}}}, missing, "Proposal", "nix"},
		{"nat at an interface", openwrt.NAT{Name: "n", Src: "net9"}, missing, "", ""},
		{"a route by an interface", openwrt.Route{Name: "n", Dst: "default", Dev: "net9"}, missing, "", ""},
		{"a rule at an interface", openwrt.NetworkRule{Name: "n", Src: "#9.9.9.9", Target: "DROP"}, missing, "", ""},
		{"a name that is taken", openwrt.PolicyRule{Name: "net1"}, openwrt.IsConflict, "", ""},
		{"an invalid value", openwrt.PolicyRule{Name: "r", Proto: "nix"}, openwrt.IsRefused, "", ""},
		{"a redirect without its source", openwrt.Redirect{Name: "r", Target: "DNAT"}, openwrt.IsRefused, "", ""},
		{"a policy without members", openwrt.Policy{Name: "p"}, openwrt.IsFault, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := connect(t, newDevice(t, simulator.Options{}), nil)
			_, err := c.Create(t.Context(), tc.make.Kind(), openwrt.ObjectOf(tc.make))
			require.True(t, tc.is(err), "%v", err)
			answers := 0
			for _, is := range []func(error) bool{missing, inUse, openwrt.IsConflict, openwrt.IsRefused, openwrt.IsFault, openwrt.IsNotFound} {
				if is(err) {
					answers++
				}
			}
			require.Equal(t, 1, answers, "one question fits")
			what, who, ok := openwrt.Missing(err)
			require.Equal(t, tc.what != "", ok)
			require.Equal(t, []string{tc.what, tc.who}, []string{what, who})
		})
	}
	c := connect(t, newDevice(t, simulator.Options{}), nil)
	for _, r := range everything() {
		put(t, c, r)
	}
	for k, name := range map[openwrt.Kind]string{openwrt.Policies: "balance1", openwrt.Zones: "wan", openwrt.Proposals: "prop1"} {
		err := c.Delete(t.Context(), k, name)
		require.True(t, inUse(err), "%v", err)
		require.False(t, openwrt.IsRefused(err) || missing(err) || openwrt.IsNotFound(err))
	}
	require.False(t, inUse(&openwrt.StatusError{Method: "POST", Code: 400, Message: "name x is used"}))
}

// TestLoss checks that values which the device accepts but drops are reported.
func TestLoss(t *testing.T) {
	c := connect(t, newDevice(t, simulator.Options{}), nil)
	ctx := t.Context()
	put(t, c, proposal())
	lost := func(err error) []string {
		var e *openwrt.LossError
		require.ErrorAs(t, err, &e)
		require.True(t, openwrt.IsLoss(err))
		return e.Fields
	}
	kept, err := c.Create(ctx, openwrt.PolicyRules, openwrt.Object{"name": "a-b"})
	require.Empty(t, lost(err))
	require.Nil(t, kept)
	require.EqualError(t, err, "mwan3/rules a-b: the device accepted it but did not store it")
	_, err = c.Put(ctx, openwrt.PolicyRules, openwrt.Object{"name": "a-b"})
	require.Empty(t, lost(err))

	remote := hub()
	remote.Connections[0].Name, remote.Connections[1].Type = "conn-T", ""
	kept, err = c.Create(ctx, openwrt.Remotes, openwrt.ObjectOf(remote))
	require.Equal(t, []string{"connections[conn-T]", "connections[connA]"}, lost(err))
	require.Equal(t, "hub", kept.Name())

	put(t, c, lan())
	again := lan()
	again.Input = "DROP"
	_, err = c.Create(ctx, openwrt.Zones, openwrt.ObjectOf(again))
	require.Equal(t, []string{"input"}, lost(err), "a second object hides behind the first")
	list, err := c.List(ctx, openwrt.Zones)
	require.NoError(t, err)
	require.Len(t, list, 2)
	put(t, c, again)
	list, err = c.List(ctx, openwrt.Zones)
	require.NoError(t, err)
	require.Equal(t, []openwrt.Object{openwrt.ObjectOf(again)}, list)
}

// TestCertificates checks that certificates are read back as digests that show a change and nothing else.
func TestCertificates(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	c := connect(t, d, nil)
	r := openwrt.Remote{
		Name: "hub", Authentication: "pubkey", PublicCert: "LS0tLS1CRUdJTg==", PrivateKey: "cHJpdmF0ZSBrZXk=", SharedCA: "c2hhcmVkIGNh",
	}
	first, err := c.Create(t.Context(), openwrt.Remotes, openwrt.ObjectOf(r))
	require.NoError(t, err)
	require.IsType(t, openwrt.Digest(""), first["local_private_cert"])
	again, err := c.Get(t.Context(), openwrt.Remotes, "hub")
	require.NoError(t, err)
	require.Equal(t, first, again)
	r.SharedCA = "b3RoZXIgY2E="
	second, err := c.Put(t.Context(), openwrt.Remotes, openwrt.ObjectOf(r))
	require.NoError(t, err)
	require.NotEqual(t, first["shared_ca"], second["shared_ca"])
	require.Equal(t, first["local_private_cert"], second["local_private_cert"])
	r.SharedCA = "YQ=="
	_, err = c.Put(t.Context(), openwrt.Remotes, openwrt.ObjectOf(r))
	require.True(t, openwrt.IsLoss(err), "of less than four characters nothing comes back: %v", err)
	_, err = c.List(t.Context(), openwrt.Remotes)
	require.NoError(t, err)
}

// TestUnknownOutcome covers writes whose answers are lost, and puts that stop half way.
func TestUnknownOutcome(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	c := connect(t, d, nil)
	ctx := t.Context()
	d.FailAt(1, simulator.AfterWrite)
	_, err := c.Create(ctx, openwrt.Zones, openwrt.ObjectOf(lan()))
	require.ErrorIs(t, err, openwrt.ErrUnknownOutcome)
	list, err := c.List(ctx, openwrt.Zones)
	require.NoError(t, err)
	require.Len(t, list, 1, "it was done, and done once")
	d.FailAt(1, simulator.AfterWrite)
	require.ErrorIs(t, c.Delete(ctx, openwrt.Zones, "lan"), openwrt.ErrUnknownOutcome)
	require.True(t, openwrt.IsNotFound(c.Delete(ctx, openwrt.Zones, "lan")))

	put(t, c, lan())
	d.FailAt(1, simulator.BetweenHalves)
	_, err = c.Put(ctx, openwrt.Zones, openwrt.ObjectOf(lan()))
	require.True(t, openwrt.IsFault(err), "%v", err)
	_, err = c.Get(ctx, openwrt.Zones, "lan")
	require.True(t, openwrt.IsNotFound(err), "a put that fails may leave nothing")

	d.FailAt(1, simulator.BeforeWrite)
	err = c.Act(ctx, "firewall", openwrt.Reload)
	require.EqualError(t, err, "PUT sdewan/v1/service/firewall: 500: no space left on device")
	require.NoError(t, c.Act(ctx, "firewall", openwrt.Reload))
	require.Equal(t, []simulator.Action{{Service: "firewall", Verb: "reload"}}, d.Actions())
	require.Error(t, c.Act(ctx, "firewall", "jump"))
	require.Error(t, c.Act(ctx, "../x", openwrt.Stop))
	names, err := c.Services(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"mwan3", "firewall", "ipsec"}, names)

	d.Close()
	_, err = c.Create(ctx, openwrt.Zones, openwrt.ObjectOf(lan()))
	require.Error(t, err)
	require.NotErrorIs(t, err, openwrt.ErrUnknownOutcome, "nothing was sent")
}

// TestManyAtOnce writes from many callers, and recovers after the device has dropped them and has restarted.
func TestManyAtOnce(t *testing.T) {
	d := newDevice(t, simulator.Options{TLS: true, Strict: true})
	require.NoError(t, d.Start("127.0.0.1:0"))
	c := connect(t, d, func(o *openwrt.Options) { o.Dial, o.Connections = nil, 8 })
	const callers = 20
	all := func() error {
		var group sync.WaitGroup
		faults := make([]error, callers)
		for i := range faults {
			group.Go(func() {
				_, faults[i] = c.Create(t.Context(), openwrt.Forwardings, openwrt.Object{"name": fmt.Sprintf("f%d", i)})
			})
		}
		group.Wait()
		return errors.Join(faults...)
	}
	require.NoError(t, all())
	d.Drop()
	list, err := c.List(t.Context(), openwrt.Forwardings)
	require.NoError(t, err, "a read is repeated when the connection had ended")
	require.Len(t, list, callers)
	d.Restart()
	list, err = c.List(t.Context(), openwrt.Forwardings)
	require.NoError(t, err)
	require.Empty(t, list, "a device that restarts is empty")
	c.Close() // a write on a connection that is ending may have an unknown outcome
	require.NoError(t, all())
	require.Equal(t, int64(2), c.Stats().Logins)
}

func TestNamesThatCannotBeAsked(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	c := connect(t, d, nil)
	for _, name := range []string{"", "a/b", "a?b", "a b", "a%20b", "..", "ä"} {
		_, err := c.Get(t.Context(), openwrt.Zones, name)
		require.ErrorAs(t, err, new(*openwrt.NameError))
		_, err = c.Put(t.Context(), openwrt.Zones, openwrt.Object{"name": name})
		require.ErrorAs(t, err, new(*openwrt.NameError))
		require.ErrorAs(t, c.Delete(t.Context(), openwrt.Zones, name), new(*openwrt.NameError))
	}
	_, err := c.List(t.Context(), 0)
	require.Error(t, err)
	require.Empty(t, d.Requests())
}

func TestSession(t *testing.T) {
	t.Run("a session that ended is renewed, once", func(t *testing.T) {
		d := newDevice(t, simulator.Options{Strict: true})
		c := connect(t, d, nil)
		put(t, c, lan())
		d.ExpireSessions()
		d.Reset()
		put(t, c, lan())
		var codes []int
		for _, r := range d.Requests() {
			codes = append(codes, r.Code)
		}
		require.Equal(t, []int{403, 302, 200}, codes)
	})
	t.Run("a changed password is asked for", func(t *testing.T) {
		d := newDevice(t, simulator.Options{Strict: true})
		now := password
		c := connect(t, d, func(o *openwrt.Options) {
			o.Password = func(context.Context) (string, error) { return now, nil }
		})
		put(t, c, lan())
		d.SetPassword("next")
		d.ExpireSessions()
		_, err := c.List(t.Context(), openwrt.Zones)
		require.ErrorIs(t, err, openwrt.ErrUnauthorized)
		now = "next"
		_, err = c.List(t.Context(), openwrt.Zones)
		require.NoError(t, err)
	})
	t.Run("no password is no login", func(t *testing.T) {
		c := connect(t, newDevice(t, simulator.Options{}), func(o *openwrt.Options) { o.Password = nil })
		put(t, c, lan())
		require.Zero(t, c.Stats().Logins)
		c = connect(t, newDevice(t, simulator.Options{Strict: true}), func(o *openwrt.Options) { o.Password = nil })
		_, err := c.List(t.Context(), openwrt.Zones)
		require.ErrorIs(t, err, openwrt.ErrUnauthorized)
	})
	t.Run("a password that cannot be had sends nothing", func(t *testing.T) {
		d := newDevice(t, simulator.Options{})
		gone := errors.New("the secret is gone")
		c := connect(t, d, func(o *openwrt.Options) {
			o.Password = func(context.Context) (string, error) { return "", gone }
		})
		_, err := c.List(t.Context(), openwrt.Zones)
		require.ErrorIs(t, err, gone)
		require.Empty(t, d.Requests())
	})
	t.Run("many callers log in once", func(t *testing.T) {
		d := newDevice(t, simulator.Options{Strict: true})
		c := connect(t, d, func(o *openwrt.Options) { o.Connections = 4 })
		var group sync.WaitGroup
		faults := make([]error, 20)
		for i := range faults {
			group.Go(func() { _, faults[i] = c.List(t.Context(), openwrt.Zones) })
		}
		group.Wait()
		require.NoError(t, errors.Join(faults...))
		require.Equal(t, int64(1), c.Stats().Logins)
		require.LessOrEqual(t, d.Connections(), 4)
	})
}
