package builtin

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/memory"
	edge "github.com/netloom/netloom/backends/openwrt"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// Target is a backend and what has to run beside it.
type Target struct {
	Name    string
	Backend backends.Backend
	// Run keeps what the backend stands on, such as a connection, until ctx ends. Nil where there is nothing to keep.
	Run func(ctx context.Context) error
	// Up says whether the target can be reached now; nil where it always can.
	Up func() bool
	// HasPort says whether a logical port of that name has been seen; nil where there are no such ports. Anybody may ask.
	HasPort func(name string) bool
}

// Settings is all that constructors may ask for.
type Settings struct {
	Owner string
	Log   logrus.FieldLogger
	// MaxDeleteFraction is the share of what protects pods that may go at once while as many pods are not found, as that of
	// reconcile.Options; zero is none, 1 all.
	MaxDeleteFraction float64
	OVN               OVNSettings
	OpenWRT           OpenWRTSettings
}

// OpenWRTSettings are those of the backend named openwrt: which gateway, and how to talk to it.
type OpenWRTSettings struct {
	Client  openwrt.Options
	Gateway intent.GatewayID
	Addr    netip.Addr // where Client finds it
	// Secret reads a key of a Secret; see the backend's own Options.
	Secret func(context.Context, intent.SecretRef) ([]byte, error)
}

// OVNSettings are those of the backend named ovn.
type OVNSettings struct {
	Endpoints []string // of the Northbound database, see ovsdb.Options
	TLS       ovsdb.TLSFiles
	MaxReply  int64  // see ovsdb.Options
	PortNames string // see ovn.ParsePortNames
	LogRate   uint32 // see ovn.Options

	LoadBalancing ovn.LoadBalancing
}

// Constructor makes a target from settings. It connects to nothing.
type Constructor func(Settings) (*Target, error)

// Constructors lists the backends by name.
func Constructors() map[string]Constructor {
	return map[string]Constructor{"memory": newMemory, "openwrt": newOpenWRT, "ovn": newOVN}
}

// New makes the target of a name.
func New(name string, s Settings) (*Target, error) {
	constructors := Constructors()
	construct := constructors[name]
	if construct == nil {
		known := slices.Sorted(maps.Keys(constructors))
		return nil, fmt.Errorf("backend %q: expected one of %s", name, strings.Join(known, ", "))
	}
	return construct(s)
}

func newOVN(s Settings) (*Target, error) {
	ports, err := ovn.ParsePortNames(s.OVN.PortNames)
	if err != nil {
		return nil, err
	}
	opts := ovsdb.Options{Endpoints: s.OVN.Endpoints, TLS: s.OVN.TLS, MaxReply: s.OVN.MaxReply, LeaderOnly: true, Log: s.Log}
	if key := ports.IndexKey(); key != "" {
		opts.PortIndexKeys = []string{key}
	}
	client, err := ovsdb.New(opts)
	if err != nil {
		return nil, err
	}
	backend, err := ovn.New(client, ovn.Options{
		Owner: s.Owner, Ports: ports, LogRate: s.OVN.LogRate, LoadBalancing: s.OVN.LoadBalancing, Log: s.Log,
		MaxDeleteFraction: s.MaxDeleteFraction,
	})
	if err != nil {
		return nil, err
	}
	return &Target{
		Name: "ovn", Backend: backend, Run: client.Run, Up: client.Connected,
		HasPort: func(name string) bool {
			_, ok := client.Port(name)
			return ok
		},
	}, nil
}

func newOpenWRT(s Settings) (*Target, error) {
	opts := s.OpenWRT.Client
	if opts.Log == nil {
		opts.Log = s.Log
	}
	client, err := openwrt.New(opts)
	if err != nil {
		return nil, err
	}
	backend, err := edge.New(client, edge.Options{
		Owner: s.Owner, Gateway: s.OpenWRT.Gateway, Addr: s.OpenWRT.Addr, Secret: s.OpenWRT.Secret, Log: s.Log,
	})
	if err != nil {
		return nil, err
	}
	return &Target{Name: "openwrt", Backend: backend, Run: func(ctx context.Context) error {
		<-ctx.Done()
		client.Close()
		return nil
	}}, nil
}

func newMemory(s Settings) (*Target, error) {
	return &Target{Name: "memory", Backend: memory.New(memory.NewTarget(), s.Owner)}, nil
}
