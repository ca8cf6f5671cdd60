package openwrt_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// secretTexts are parts of secrets that must be seen nowhere.
func secretTexts() []string {
	return []string{"test_key", "c2VjcmV0", "secret private", simulator.DefaultPassword}
}

func requireNoSecret(t testing.TB, text string) {
	t.Helper()
	for _, s := range secretTexts() {
		require.NotContains(t, text, s)
	}
}

// TestEveryWriteFails has every write of a change go wrong in every way, and lets the same process or another go on.
func TestEveryWriteFails(t *testing.T) {
	for name, fail := range map[string]func(d *simulator.Device, k int){
		"before it":      func(d *simulator.Device, k int) { d.FailAt(k, simulator.BeforeWrite) },
		"between halves": func(d *simulator.Device, k int) { d.FailAt(k, simulator.BetweenHalves) },
		"after it":       func(d *simulator.Device, k int) { d.FailAt(k, simulator.AfterWrite) },
		"for good":       func(d *simulator.Device, k int) { d.FailAfter(k - 1) },
	} {
		t.Run(name, func(t *testing.T) {
			want := changed(t, newRig(t))
			for k := 1; ; k++ {
				r := newRig(t)
				e := r.fill(t)
				r.reconcile(t)
				r.put(e.changes()...)
				r.drop(e.mark, e.masquerade)
				r.put(of("CNFNAT", "new", &intent.LinkNAT{To: intent.Link{Default: true}, Translation: intent.Translation{Kind: intent.Masquerade}}))
				before := count(t, r)
				r.device.Reset()
				p := r.plan(t)
				fail(r.device, k)
				err := r.backend.Apply(t.Context(), p)
				r.device.FailAt(0, 0)
				r.device.FailAfter(-1)
				if err == nil {
					require.Greater(t, k, 20)
					break
				}
				requireNoSecret(t, err.Error())
				if name == "between halves" {
					require.GreaterOrEqual(t, count(t, r), before-2, "write %d left less than there was", k)
				}
				if k%2 == 0 {
					r.restart(t, "a")
				}
				r.reconcileFully(t)
				require.Equal(t, want, dump(t, r), "write %d", k)
				require.Equal(t, "reload", r.device.Actions()[len(r.device.Actions())-1].Verb)
				requireRead(t, r)
				r.requireSettled(t)
			}
		})
	}
}

// changed is the state of a device after the change of TestEveryWriteFails.
func changed(t *testing.T, r *rig) string {
	t.Helper()
	e := r.fill(t)
	r.put(e.changes()...)
	r.drop(e.mark, e.masquerade)
	r.put(of("CNFNAT", "new", &intent.LinkNAT{To: intent.Link{Default: true}, Translation: intent.Translation{Kind: intent.Masquerade}}))
	require.Empty(t, r.reconcile(t).Skips)
	return dump(t, r)
}

// count returns how many objects a device has that are not notes.
func count(t testing.TB, r *rig) int {
	t.Helper()
	n := 0
	for _, line := range strings.Split(dump(t, r), "\n") {
		if strings.Contains(line, " map[") && !strings.Contains(line, "_pending_") && !strings.Contains(line, "_seal_") && !strings.Contains(line, "_parts_") {
			n++
		}
	}
	return n
}

// requireRead requires the firewall to use its new rules: the rule of lan to wan is another after the change.
func requireRead(t testing.TB, r *rig) {
	t.Helper()
	got := r.device.Trace(simulator.Packet{
		In: "net0", Src: addr("172.16.70.7"), Dst: addr("9.9.9.9"), Proto: "tcp", SrcPort: 1, DstPort: 80,
	})
	require.Equal(t, simulator.Drop, got.Verdict, "%v", got.Steps)
}

// TestProcessThatDiesBeforeItReloads dies before each of the reloads.
func TestProcessThatDiesBeforeItReloads(t *testing.T) {
	services := []string{"ipsec", "firewall", "mwan3"}
	for i, created := range []int{15, 4, 1} { // everything but ipsec, what waited for the firewall, a translation that comes last
		t.Run(services[i], func(t *testing.T) {
			r := newRig(t)
			r.fill(t)
			p := r.plan(t)
			p.Ops = p.Ops[:slices.IndexFunc(p.Ops, func(op backends.Op) bool { return op.Verb == backends.Reload && op.Name == services[i] })]
			require.NoError(t, r.backend.Apply(t.Context(), p))
			require.Len(t, r.reloads(), i)
			r.restart(t, "a")
			p = r.reconcile(t)
			require.Equal(t, map[backends.Verb]int{backends.Create: created, backends.Reload: 3 - i}, verbs(p))
			var want []string
			for _, s := range services[i:] {
				want = append(want, s+" reload")
			}
			require.Equal(t, want, r.reloads())
			r.requireSettled(t)
		})
	}
}

func TestReloadsAreFew(t *testing.T) {
	r := newRig(t)
	var rules []*intent.DeviceIntent
	zone := of("FirewallZone", "lan", &intent.Zone{Networks: []string{"lan"}})
	for i := range 100 {
		rules = append(rules, of("FirewallRule", fmt.Sprintf("r-%d", i), &intent.FirewallRule{
			From: ref(zone), Decides: intent.Drop, Match: intent.Match{Protocol: "tcp", DstPort: uint16(i + 1)},
		}, zone))
	}
	r.put(append(rules, zone)...)
	r.reconcile(t)
	require.Equal(t, 101+3, r.writes(), "the objects, a note that comes and goes, and a reload")
	require.Equal(t, []string{"firewall reload"}, r.reloads())
	r.drop(rules...)
	r.reconcile(t)
	require.Equal(t, 100+3, r.writes())
	require.Equal(t, []string{"firewall reload"}, r.reloads())
}

// TestFirstWriteOfAProcessReloadsNothingElse has a process that starts leave alone the services that it writes nothing for.
func TestFirstWriteOfAProcessReloadsNothingElse(t *testing.T) {
	r := newRig(t)
	e := r.fill(t)
	r.reconcile(t)
	r.restart(t, "a")
	require.Empty(t, r.reconcile(t).Ops)
	r.reloads()
	r.drop(e.routeRule)
	r.reconcile(t)
	require.Empty(t, r.reloads(), "a routing rule takes effect at once")
	r.restart(t, "a")
	r.drop(e.rule)
	r.reconcile(t)
	require.Equal(t, []string{"firewall reload"}, r.reloads())
}

// TestARefusedObjectReloadsNothing has a device reject an object whenever a process starts.
func TestARefusedObjectReloadsNothing(t *testing.T) {
	r := newRig(t)
	e := r.fill(t)
	r.put(of("IpsecProposal", "bad", &intent.Proposal{Encryption: "rot13"}))
	require.Len(t, r.reconcile(t).Skips, 1)
	r.reloads()
	for range 3 {
		r.restart(t, "a")
		require.Len(t, r.reconcile(t).Skips, 1)
		require.Len(t, r.reconcileFully(t).Skips, 1)
		require.Empty(t, r.reloads())
	}
	require.NotContains(t, r.device.Export(), "_pending_")
	r.drop(e.host)
	r.reconcile(t)
	require.Equal(t, []string{"ipsec reload"}, r.reloads())
}

// TestRefusals makes the device refuse an object: the rest is written, what needs it waits, and it is tried again.
func TestRefusals(t *testing.T) {
	r := newRig(t)
	e := r.fill(t)
	bad := of("IpsecProposal", "strong", &intent.Proposal{Encryption: "rot13"})
	r.put(bad)
	p := r.reconcile(t)
	require.Len(t, p.Skips, 3)
	require.Equal(t, string(e.host.ID), p.Skips[0].Intent)
	require.Contains(t, skipOf(p, e.proposal), "400: Field[encryption_algorithm] checked failed: invalid encryption_algorithm")
	require.Contains(t, skipOf(p, e.site), "needs ipsec/proposals n13a6_8luw83t00n_strong, which is missing: PUT")
	require.Equal(t, len(e.list())-3, count(t, r))
	for _, s := range p.Skips {
		requireNoSecret(t, s.Reason)
	}
	r.device.Reset()
	r.put(of("CNFRoute", "other", &intent.Route{Dst: prefix("10.0.0.0/8"), Dev: intent.Link{Default: true}}))
	next := r.reconcile(t)
	require.Equal(t, map[backends.Verb]int{backends.Create: 1}, verbs(next), "what was refused is left alone")
	require.Equal(t, p.Skips, next.Skips)
	again := r.reconcileFully(t)
	require.Equal(t, 3, verbs(again)[backends.Create], "it is tried again")
	require.Zero(t, again.Drift(), "the device did not change")
	require.Equal(t, p.Skips, again.Skips)
	require.NotContains(t, r.reloads(), "ipsec reload", "nothing was written")
	r.put(newEverything().proposal)
	require.Empty(t, r.reconcile(t).Skips)
	r.requireSettled(t)
	require.Equal(t, len(e.list())+1, count(t, r))
}

func skipOf(p *backends.Plan, e *intent.DeviceIntent) string {
	for _, s := range p.Skips {
		if s.Intent == string(e.ID) {
			return s.Reason
		}
	}
	return ""
}

// TestRefusedUpdateKeepsWhatWasThere makes the device refuse the second half of a write.
func TestRefusedUpdateKeepsWhatWasThere(t *testing.T) {
	r := newRig(t)
	e := r.fill(t)
	r.reconcile(t)
	before := r.object(t, openwrt.Remotes, "u8mspgkft2_hub")
	site := *e.site.Spec.(*intent.Tunnel)
	site.Connections = append(site.Connections, intent.Connection{Name: "third", Start: "add"})
	next := *e.site
	next.Spec = &site
	r.put(&next)
	name := ""
	p := r.plan(t)
	for field := range p.Ops[0].After {
		if strings.HasPrefix(field, "connections[") {
			name, _, _ = strings.Cut(strings.TrimPrefix(field, "connections["), "]")
		}
	}
	require.NoError(t, r.device.AddSection("ipsec", "tunnel", name, nil)) // another object has the name
	require.NoError(t, r.backend.Apply(t.Context(), p))
	require.Contains(t, skipOf(p, e.site), "409: Conflict")
	require.NotContains(t, skipOf(p, e.site), "lost")
	require.Equal(t, before, r.object(t, openwrt.Remotes, "u8mspgkft2_hub"))
	require.Equal(t, 1, r.device.RemoveSection("ipsec", "tunnel", name))
	require.Empty(t, r.reconcileFully(t).Skips)
	r.requireSettled(t)
}

// TestRefusedCreateLeavesNothing makes the device refuse a remote when half of it is written.
func TestRefusedCreateLeavesNothing(t *testing.T) {
	r := newRig(t)
	e := r.fill(t)
	r.drop(e.site)
	r.reconcile(t)
	before := r.object(t, openwrt.Remotes, "hub")
	r.put(e.site)
	p := r.plan(t)
	require.NoError(t, r.device.AddSection("ipsec", "tunnel", "n13a6_p17pvrl08g_conn_a", nil))
	require.NoError(t, r.backend.Apply(t.Context(), p))
	require.Contains(t, skipOf(p, e.site), "409: Conflict")
	all, err := r.client.List(t.Context(), openwrt.Remotes)
	require.NoError(t, err)
	require.Equal(t, []openwrt.Object{before}, all)
}

// TestBreakingOffLosesNothing makes the device disconnect after it has deleted what is to be replaced.
func TestBreakingOffLosesNothing(t *testing.T) {
	r := newRig(t)
	e := r.fill(t)
	r.reconcile(t)
	r.put(e.changes()[0])
	p := r.plan(t)
	r.device.FailAt(2, simulator.BetweenHalves) // the first leaves a note
	require.ErrorContains(t, r.backend.Apply(t.Context(), p), "500: no space left on device")
	require.Equal(t, "REJECT", r.object(t, openwrt.Zones, "n13a6y8rhfh")["input"])
	require.Empty(t, r.reconcile(t).Ops, "it was written once more, and loaded")
	r.requireSettled(t)
}

// TestLossIsNoSuccess makes the device report success and store something else.
func TestLossIsNoSuccess(t *testing.T) {
	r := newRig(t)
	g := cnf()
	g.Networks["odd"] = "net-0" // the section of a member cannot be called so
	r.change(func(b *intent.Builder) { b.PutCNF(g) })
	require.NoError(t, r.device.AddSection("mwan3", "interface", "x", nil))
	empty := r.device.Export("mwan3")
	policy := of("Mwan3Policy", "p", &intent.WANPolicy{Members: []intent.WANMember{{Network: "odd", Metric: 1, Weight: 1}}})
	rule := of("Mwan3Rule", "r", &intent.WANRule{Policy: ref(policy)}, policy)
	r.put(policy, rule)
	p := r.reconcile(t)
	require.NotEmpty(t, skipOf(p, policy))
	require.Contains(t, skipOf(p, rule), "needs mwan3/policies")
	require.Equal(t, empty, r.device.Export("mwan3"))
}

func TestSecretsThatCannotBeRead(t *testing.T) {
	r := newRig(t)
	e := r.fill(t)
	r.reconcile(t)
	whole := r.device.Export("ipsec")
	delete(r.secrets, pskRef)
	r.secrets[certRef("ca.crt")] = []byte("no certificate")
	site := *e.site.Spec.(*intent.Tunnel)
	site.LocalID = "other"
	next := *e.site
	next.Spec = &site
	r.put(&next)
	p := r.reconcileFully(t)
	require.Empty(t, p.Ops)
	require.Equal(t, "pre-shared key: Secret shop/branch, key psk: not found; the previous configuration stays", skipOf(p, e.site))
	require.Equal(t, "CA: Secret shop/certs, key ca.crt: not PEM; the previous configuration stays", skipOf(p, e.host))
	require.Equal(t, whole, r.device.Export("ipsec"))
	r.secrets[pskRef] = []byte("another")
	r.secrets[certRef("ca.crt")] = []byte(testPEM)
	p = r.reconcileFully(t)
	require.Equal(t, map[backends.Verb]int{backends.Update: 1, backends.Reload: 1}, verbs(p))
	require.Equal(t, "(redacted)", p.Ops[0].After["pre_shared_key"])
	r.requireSettled(t)
}

func TestCertificates(t *testing.T) {
	r := newRig(t)
	e := r.fill(t)
	r.reconcile(t)
	r.secrets[certRef("tls.key")] = []byte(file(t, "rsa-pkcs8.key"))
	p := r.reconcileFully(t)
	require.Equal(t, map[backends.Verb]int{backends.Update: 1, backends.Delete: 1, backends.Reload: 1}, verbs(p), "the remote and its note")
	requireNoSecret(t, text(t, p))
	r.requireSettled(t)

	remote := r.object(t, openwrt.Remotes, "cfendcffwz_hub") // another client writes another certificate
	for _, f := range []string{"local_public_cert", "local_private_cert", "shared_ca"} {
		remote[f] = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t"
	}
	_, err := r.client.Put(t.Context(), openwrt.Remotes, remote)
	require.NoError(t, err)
	r.restart(t, "a")
	p = r.reconcile(t)
	require.Equal(t, 1, verbs(p)[backends.Update], text(t, p))
	r.requireSettled(t)
	r.drop(e.host)
	r.reconcile(t)
	require.NotContains(t, r.device.Export(), "_seal_")
}

func TestUnreachable(t *testing.T) {
	r := newRig(t)
	r.fill(t)
	p := r.plan(t)
	r.device.Close()
	_, err := r.backend.Plan(t.Context(), r.snap, 0)
	require.ErrorIs(t, err, backends.ErrUnreachable)
	err = r.backend.Apply(t.Context(), p)
	require.ErrorIs(t, err, backends.ErrUnreachable)
	requireNoSecret(t, err.Error())
}

func TestWrongPasswordIsNotUnreachable(t *testing.T) {
	d := newDevice(t, simulator.Options{Strict: true})
	r := newRig(t)
	c, err := openwrt.New(openwrt.Options{URL: d.URL(), Dial: d.Dial, Password: func(context.Context) (string, error) { return "wrong", nil }})
	require.NoError(t, err)
	r.client = c
	r.restart(t, "a")
	_, err = r.backend.Plan(t.Context(), r.snap, 0)
	require.ErrorIs(t, err, openwrt.ErrUnauthorized)
	require.NotErrorIs(t, err, backends.ErrUnreachable)
}

// TestDeviceWithoutAModule uses a device that lacks a part of its interface: the rest is written.
func TestDeviceWithoutAModule(t *testing.T) {
	r := newRig(t)
	to := &httputil.ReverseProxy{
		Transport: &http.Transport{DialContext: r.device.Dial, DisableKeepAlives: true},
		Rewrite: func(q *httputil.ProxyRequest) {
			q.Out.URL.Scheme, q.Out.URL.Host = "http", "device"
		},
	}
	lacks := "/sdewan/"
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.Contains(q.URL.Path, lacks) {
			http.NotFound(w, q)
			return
		}
		to.ServeHTTP(w, q)
	}))
	defer front.Close()
	c, err := openwrt.New(openwrt.Options{URL: front.URL})
	require.NoError(t, err)
	defer c.Close()
	r.client = c
	r.restart(t, "a")
	e := r.fill(t)
	_, err = r.backend.Plan(t.Context(), r.snap, 0)
	require.True(t, openwrt.IsNotFound(err), "a device without any is not up yet")
	lacks = "/sdewan/nat/"
	p := r.reconcile(t)
	require.Len(t, p.Skips, 2)
	require.Contains(t, skipOf(p, e.linkNAT), "404")
	require.Contains(t, r.device.Export(), "config remote 'n")
	require.NotContains(t, r.device.Export(), "config nat")
}
