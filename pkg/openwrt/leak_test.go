package openwrt_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/openwrt"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// TestStatus reads the status of a device that prints keys where headers belong.
func TestStatus(t *testing.T) {
	d := newDevice(t, simulator.Options{TLS: true, Strict: true})
	c := connect(t, d, nil)
	for _, r := range everything() {
		put(t, c, r)
	}
	require.NoError(t, d.SetStatus("wan", fmt.Sprintf(`{"psk":%q,"said":["the key is %s and %s"],"n":1.50}`, key, key, password)))
	modules, err := c.Status(t.Context())
	require.NoError(t, err)
	var names []string
	for _, m := range modules {
		names = append(names, m.Name)
		requireNoSecret(t, strings.ReplaceAll(string(m.Status), "the key is "+key, "")) // a key that the client was never given
	}
	require.Equal(t, openwrt.StatusModules(), names)
	one, err := c.ModuleStatus(t.Context(), "ipsec")
	require.NoError(t, err)
	require.JSONEq(t, `{"InitConnection":"fail","details":[{"up":"0","connecting":"0"}]}`, string(one.Status))
	wan, err := c.ModuleStatus(t.Context(), "wan")
	require.NoError(t, err)
	require.JSONEq(t, `{"psk":"(redacted)","said":["the key is `+key+` and (redacted)"],"n":1.50}`, string(wan.Status))
	_, err = c.ModuleStatus(t.Context(), "../services")
	require.Error(t, err)
	d.ExpireSessions()
	_, err = c.Status(t.Context())
	require.NoError(t, err, "a session is renewed for these as well")
}

func TestStatusIsBounded(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	c := connect(t, d, func(o *openwrt.Options) { o.MaxStatus = 4096 })
	put(t, c, proposal())
	put(t, c, hub())
	require.NoError(t, d.SetStatus("conntrack", "["+strings.Repeat(`{"protocol":"tcp"},`, 1000)+"1]"))
	modules, err := c.Status(t.Context())
	require.NoError(t, err)
	require.Len(t, modules, len(openwrt.StatusModules()))
	require.Equal(t, openwrt.Module{Name: "conntrack", Status: []byte("null"), TooLarge: true}, modules[0])
	for _, m := range modules[1:] {
		require.False(t, m.TooLarge, m.Name)
		require.Less(t, len(m.Status), 4096)
	}
}

// TestNothingLeaks makes everything fail that can and reads every error and the log, at their lowest levels.
func TestNothingLeaks(t *testing.T) {
	log := newNotebook()
	d := newDevice(t, simulator.Options{TLS: true, Strict: true})
	c := connect(t, d, func(o *openwrt.Options) { o.Log = log })
	ctx := t.Context()
	var said strings.Builder
	hear := func(err error) { fmt.Fprintf(&said, "%v\n%+v\n%#v\n", err, err, err) }
	attempt := func() {
		for _, change := range []func(*openwrt.Remote){
			func(*openwrt.Remote) {},
			func(r *openwrt.Remote) { r.Authentication = "nix" },
			func(r *openwrt.Remote) { r.CryptoProposal = []string{key} },
			func(r *openwrt.Remote) { r.Connections[0].Name = "prop1" },
			func(r *openwrt.Remote) { r.Connections[0].Name = "a-b" },
			func(r *openwrt.Remote) { r.Connections[0].Mode = key },
		} {
			r := hub()
			change(&r)
			kept, err := c.Create(ctx, openwrt.Remotes, openwrt.ObjectOf(r))
			hear(err)
			fmt.Fprintf(&said, "%v %#v\n", kept, kept)
			_, err = c.Put(ctx, openwrt.Remotes, openwrt.ObjectOf(r))
			hear(err)
			_, err = c.Status(ctx)
			hear(err)
		}
	}
	put(t, c, proposal())
	attempt()
	for _, stage := range []simulator.Stage{simulator.BeforeWrite, simulator.BetweenHalves, simulator.AfterWrite} {
		for n := range 12 {
			d.FailAt(n+1, stage)
		}
		attempt()
		d.FailAt(0, stage)
	}
	d.ExpireSessions()
	d.SetPassword("other")
	attempt()
	d.Close()
	attempt()
	requireNoSecret(t, said.String())
	requireNoSecret(t, log.text.String())
	require.Contains(t, log.text.String(), "logged in")
	require.NotRegexp(t, "[0-9a-f]{32}", said.String()+log.text.String(), "a cookie")
}

func TestTLS(t *testing.T) {
	d := newDevice(t, simulator.Options{TLS: true, Names: []string{"10-1-2-3.default.pod.cluster.local"}})
	other := newDevice(t, simulator.Options{TLS: true})
	require.NoError(t, d.Start("127.0.0.1:0"))
	for _, tc := range []struct {
		name   string
		change func(*openwrt.Options)
		wantOK bool
	}{
		{"its address is in the certificate", func(*openwrt.Options) {}, true},
		{"so is its name", func(o *openwrt.Options) { o.ServerName = "10-1-2-3.default.pod.cluster.local" }, true},
		{"another name is not", func(o *openwrt.Options) { o.ServerName = "10-1-2-4.default.pod.cluster.local" }, false},
		{"another CA", func(o *openwrt.Options) { o.CA = other.CA() }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d.Reset()
			c := connect(t, d, func(o *openwrt.Options) {
				o.Dial = nil
				tc.change(o)
			})
			_, err := c.List(t.Context(), openwrt.Zones)
			_, statusErr := c.Status(t.Context())
			if tc.wantOK {
				require.NoError(t, err)
				require.NoError(t, statusErr)
				return
			}
			var wrong *tls.CertificateVerificationError
			require.ErrorAs(t, err, &wrong)
			require.ErrorAs(t, statusErr, &wrong)
			require.Empty(t, d.Requests(), "the password was not sent")
		})
	}
	plain := connect(t, d, func(o *openwrt.Options) { o.URL, o.Dial = strings.Replace(d.URL(), "https", "http", 1), nil })
	_, err := plain.List(t.Context(), openwrt.Zones)
	require.Error(t, err)
}

func TestOptions(t *testing.T) {
	for _, tc := range []struct {
		name string
		opts openwrt.Options
		want string
	}{
		{"nothing", openwrt.Options{}, `OpenWRT client: URL "": expected http://HOST or https://HOST`},
		{"another scheme", openwrt.Options{URL: "ftp://x"}, `OpenWRT client: URL "ftp://x": expected http://HOST or https://HOST`},
		{"a path", openwrt.Options{URL: "http://x/cgi-bin"}, `OpenWRT client: URL "http://x/cgi-bin": expected http://HOST or https://HOST`},
		{"a password", openwrt.Options{URL: "http://root:pw@x"}, `OpenWRT client: URL "http://root:xxxxx@x": expected http://HOST or https://HOST`},
		{"no URL", openwrt.Options{URL: "http://%"}, "OpenWRT client: URL: cannot be parsed"},
		{"no CA", openwrt.Options{URL: "https://x"}, "OpenWRT client: CA: contains no certificate"},
		{
			"several faults",
			openwrt.Options{URL: "https://x", Timeout: -1, MaxStatus: -1},
			"OpenWRT client: CA: contains no certificate\ntimeout: must not be negative\nmaximum status size: must not be negative",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := openwrt.New(tc.opts)
			require.EqualError(t, err, tc.want)
		})
	}
	c, err := openwrt.New(openwrt.Options{URL: "http://[fd00::1]:8080/", Password: func(context.Context) (string, error) { return "", nil }})
	require.NoError(t, err)
	require.Equal(t, "http://[fd00::1]:8080/", c.URL())
}
