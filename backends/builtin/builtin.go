package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/memory"
	device "github.com/netloom/netloom/backends/openwrt"
	"github.com/netloom/netloom/backends/ovn"
	controller "github.com/netloom/netloom/backends/tungsten"
	"github.com/netloom/netloom/pkg/config/setting"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/pkg/tungsten"
)

// Target is a backend and what has to run alongside it.
type Target struct {
	Name    string
	Backend backends.Backend
	// Run maintains what the backend depends on, such as a connection, until ctx ends. It is nil if there is nothing to
	// maintain.
	Run func(ctx context.Context) error
	// Up reports whether the target can be reached now; nil if it always can.
	Up func() bool
	// Heard returns when the target last said, unasked, that nothing else has changed, which it does once a minute at least, and why
	// it no longer does; nil if it still does. It is nil if the target needs not.
	Heard func() (at time.Time, ended error)
}

// Settings is all that constructors may ask for.
type Settings struct {
	Owner string
	// Cluster is the name of the cluster in the keys of endpoints; "" if there is only one.
	Cluster string
	Log     logrus.FieldLogger
	// MaxDeleteFraction is that of reconcile.Options: the share of what protects pods that may be deleted at once while as
	// many pods are not found. 0 means none, 1 all.
	MaxDeleteFraction float64
	// ReadOnly means that the target is only read: any server of a cluster will do.
	ReadOnly bool
	OVN      ovn.Settings
	OpenWRT  OpenWRTSettings
	Tungsten controller.Settings
}

// Embedded lists the flags of the targets that run within the process.
func (s *Settings) Embedded() []string {
	var out []string
	for flag, embedded := range map[string]bool{"--ovn-nb": s.OVN.Embedded(), "--tungsten": s.Tungsten.Embedded()} {
		if embedded {
			out = append(out, flag)
		}
	}
	slices.Sort(out)
	return out
}

// OpenWRTSettings are the settings of the backend openwrt: which CNF, and how to talk to it.
type OpenWRTSettings struct {
	Client openwrt.Options
	CNF    intent.CNFID
	Addr   netip.Addr // the address that Client connects to
	// Secret reads a key of a Secret; see Options of the backend.
	Secret func(context.Context, intent.SecretRef) ([]byte, error)
}

// Constructor makes a target from settings. It connects to nothing.
type Constructor func(Settings) (*Target, error)

// registration describes a backend that is compiled in.
type registration struct {
	construct Constructor
	// group lists the settings of this backend that people configure, and reports whether they ask for a target that policies
	// are written to. It is nil for backends whose targets are made for the objects that they belong to, or for tests.
	group func(*Settings) setting.Group
	// parts says that the backend renders the parts of a rule, if it has any, instead of its whole list of peers.
	parts bool
}

const (
	// OVN is the name of the backend of OVN Northbound databases.
	OVN = "ovn"
	// Tungsten is the name of the backend of Tungsten Fabric controllers.
	Tungsten = "tungsten"
)

// registrations lists the backends by name. A new backend is one line here.
func registrations() map[string]registration {
	return map[string]registration{
		"memory":  {construct: newMemory},
		"openwrt": {construct: newOpenWRT},
		OVN:       {construct: newOVN, group: func(s *Settings) setting.Group { return s.OVN.Group() }, parts: true},
		Tungsten:  {construct: newTungsten, group: func(s *Settings) setting.Group { return s.Tungsten.Group() }},
	}
}

// Constructors lists the backends by name.
func Constructors() map[string]Constructor {
	out := map[string]Constructor{}
	for name, r := range registrations() {
		out[name] = r.construct
	}
	return out
}

// Groups lists the settings of all backends, bound to s, ordered by the names of the backends.
func (s *Settings) Groups() []setting.Group {
	all := registrations()
	var out []setting.Group
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if group := all[name].group; group != nil {
			out = append(out, group(s))
		}
	}
	return out
}

// PartsOnly reports whether every target for policies that the settings ask for renders the parts of a rule, if it has any, instead of its
// whole list of peers.
func (s *Settings) PartsOnly() bool {
	for _, r := range registrations() {
		if !r.parts && r.group != nil && r.group(s).Configured() {
			return false
		}
	}
	return true
}

// ErrNoTarget is wrapped in the error of Configured if the settings ask for no target at all.
var ErrNoTarget = errors.New("no target is configured: expected the endpoints of a database or the servers of a controller")

// Configured makes the targets for policies that the settings ask for, ordered by name; at least one, or the error is
// ErrNoTarget. If one cannot be made, those made before are closed.
func Configured(s Settings) ([]*Target, error) {
	all := registrations()
	var out []*Target
	for _, name := range slices.Sorted(maps.Keys(all)) {
		r := all[name]
		if r.group == nil || !r.group(&s).Configured() {
			continue
		}
		target, err := r.construct(s)
		if err != nil {
			for _, made := range out {
				err = errors.Join(err, made.Backend.Close())
			}
			return nil, err
		}
		out = append(out, target)
	}
	if len(out) == 0 {
		return nil, ErrNoTarget
	}
	return out, nil
}

// Explained lists the backends whose rows can be explained offline.
func Explained() []string { return []string{OVN, Tungsten} }

// explainedSchema is that of OVN 23.03.
var explainedSchema = sync.OnceValues(func() (ovsdb.Schema, error) { return ovsdb.ParseSchema(schema.NB2303()) })

// NewExplainer explains offline which rows policies become, in a database of OVN 23.03, from which newer versions differ little, or on
// a Tungsten Fabric controller. Rate is the lines per second of audit logs without a rate of their own.
func NewExplainer(backend, owner string, rate uint32) (backends.Explainer, error) {
	switch backend {
	case OVN:
	case Tungsten:
		return controller.NewExplainer(owner), nil
	default:
		return nil, fmt.Errorf("backend %q: expected one of %s", backend, strings.Join(Explained(), ", "))
	}
	nb, err := explainedSchema()
	if err != nil {
		return nil, err
	}
	return ovn.NewExplainer(nb, ovn.Naming{Owner: owner, Rate: rate}), nil
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
	opts := ovsdb.Options{Endpoints: s.OVN.Endpoints, TLS: s.OVN.TLS, MaxReply: s.OVN.MaxReply, LeaderOnly: !s.ReadOnly, Log: s.Log}
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
		Name: OVN, Backend: backend, Run: client.Run, Up: client.Connected,
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
	backend, err := device.New(client, device.Options{
		Owner: s.Owner, CNF: s.OpenWRT.CNF, Addr: s.OpenWRT.Addr, Secret: s.OpenWRT.Secret, Log: s.Log,
		ReloadPause: openwrt.ReloadPause,
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

func newTungsten(s Settings) (*Target, error) {
	opts, err := s.Tungsten.Client()
	if err != nil {
		return nil, err
	}
	opts.Log = s.Log
	client, err := tungsten.New(opts)
	if err != nil {
		return nil, err
	}
	backend, err := controller.New(client, controller.Options{
		Owner: s.Owner, Clusters: map[string]string{cmp.Or(s.Tungsten.ClusterName, controller.DefaultCluster): s.Cluster},
		ServiceNetwork: s.Tungsten.Network(),
	})
	if err != nil {
		return nil, err
	}
	return &Target{Name: Tungsten, Backend: backend, Heard: client.Heard, Run: func(ctx context.Context) error {
		_ = client.Watch(ctx, controller.Watched(), backend.Observe) // ends with ctx only
		client.Close()
		return nil
	}}, nil
}

func newMemory(s Settings) (*Target, error) {
	return &Target{Name: "memory", Backend: memory.New(memory.NewTarget(), s.Owner)}, nil
}
