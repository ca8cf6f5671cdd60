package openwrt_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/openwrt"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

const (
	password = "p&ss w0rd"
	key      = "test_key/1"
)

func newDevice(t *testing.T, opts simulator.Options) *simulator.Device {
	t.Helper()
	opts.Password = password
	d, err := simulator.New(opts)
	require.NoError(t, err)
	t.Cleanup(d.Close)
	return d
}

// connect makes a client of a device within the process; change may be nil.
func connect(t *testing.T, d *simulator.Device, change func(*openwrt.Options)) *openwrt.Client {
	t.Helper()
	opts := openwrt.Options{
		URL: d.URL(), CA: d.CA(), Dial: d.Dial,
		Password: func(context.Context) (string, error) { return password, nil },
	}
	if change != nil {
		change(&opts)
	}
	c, err := openwrt.New(opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// put writes one object.
func put(t *testing.T, c *openwrt.Client, r openwrt.Resource) {
	t.Helper()
	_, err := c.Put(t.Context(), r.Kind(), openwrt.ObjectOf(r))
	require.NoError(t, err)
}

func lan() openwrt.Zone { return openwrt.Zone{Name: "lan", Network: []string{"net0"}, Input: "ACCEPT"} }

func proposal() openwrt.Proposal {
	return openwrt.Proposal{Name: "prop1", Encryption: "aes128", Hash: "sha256", DHGroup: "modp3072"}
}

func hub() openwrt.Remote {
	return openwrt.Remote{
		Name: "hub", Type: "VTI-based", Gateway: "10.10.10.35", Authentication: "psk", PreSharedKey: key,
		CryptoProposal: []string{"prop1"},
		Connections: []openwrt.Connection{
			{Name: "connT", Type: "transport", Mode: "start"},
			{Name: "connA", Type: "tunnel", Mode: "start", RemoteSubnet: "192.168.1.1/24,10.10.10.35/32", CryptoProposal: []string{"prop1"}},
		},
	}
}

// everything has one object of every kind, those that are referred to first.
func everything() []openwrt.Resource {
	return []openwrt.Resource{
		openwrt.Policy{Name: "balance1", Members: []openwrt.Member{{"net1", "2", "2"}, {"net0", "3", "3"}}},
		openwrt.PolicyRule{
			Name: "rule1", Policy: "balance1", SrcIP: "10.10.10.10/24", SrcPort: "22", DestIP: "10.10.10.1", DestPort: "1000",
			Proto: "udp", Family: "ipv4", Sticky: "1", Timeout: "200",
		},
		lan(),
		openwrt.Zone{Name: "wan", Network: []string{"net2", "net1"}, Masq: "1", MasqDest: []string{"!10.0.0.0/8"}, ExtraDest: "-m x"},
		openwrt.Redirect{Name: "dnat1", Src: "wan", SrcDIP: "1.2.3.4", SrcDPort: "80", Proto: "tcp", DestIP: "172.16.70.5", Target: "DNAT"},
		openwrt.Redirect{Name: "snat-1", Src: "lan", SrcDIP: "1.2.3.5", Dest: "wan", Proto: "icmp", Target: "SNAT"},
		openwrt.FirewallRule{Name: "no.ping", Src: "wan", Proto: "icmp", ICMPType: []string{"echo-request", "any"}, Target: "DROP"},
		openwrt.Forwarding{Name: "out", Src: "lan", Dest: "wan", Family: "ipv4"},
		proposal(),
		hub(),
		openwrt.NAT{Name: "nat1", Src: "net1", Proto: "tcp", SrcDPort: "8866", DestIP: "10.96.0.10", DestPort: "80", Target: "DNAT", Index: "1"},
		openwrt.NetworkRule{Name: "n1", Src: "#default", Proto: "tcpudp", DestPort: "53", Target: "ACCEPT"},
		openwrt.Route{Name: "r1", Dst: "192.167.23.0/24", GW: "172.16.70.1", Dev: "#172.16.70.39", Table: "cnf"},
		openwrt.RouteRule{Name: "rr1", Src: "192.167.24.0/24", Not: true, Prio: "888", Table: "40", FWMark: "0x110"},
		openwrt.Application{Name: "app1", IPList: "10.1.1.1,10.1.1.2"},
	}
}

// notebook keeps a log on the lowest level.
type notebook struct {
	logrus.FieldLogger
	text *bytes.Buffer
}

func newNotebook() notebook {
	log := logrus.New()
	text := &bytes.Buffer{}
	log.SetOutput(text)
	log.SetLevel(logrus.TraceLevel)
	return notebook{log, text}
}

// requireNoSecret requires that text contains no secret.
func requireNoSecret(t *testing.T, text string, more ...string) {
	t.Helper()
	for _, secret := range append(more, password, "p%26ss", "p&ss", key, `test_key\/1`, "test_key") {
		require.NotContains(t, text, secret)
	}
}
