package daemon

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/controller"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
	"github.com/netloom/netloom/pkg/source"
)

// What SDWAN does where its fields say nothing.
const (
	DefaultSDWANInterval   = 30 * time.Second
	DefaultStatusInterval  = 30 * time.Second
	DefaultStatusNamespace = "sdewan-system"
	DefaultResolveInterval = 30 * time.Second
)

// SDWAN says what is made of SD-WAN resources. The zero value makes nothing of them.
type SDWAN struct {
	Enabled bool

	// Dynamic writes status and finalizers; nil writes none, as with a directory. New makes one where it reads from an API.
	Dynamic dynamic.Interface
	// Secrets finds passwords, keys and certificates; nil finds none. New makes one where it makes the source.
	Secrets source.Secrets
	// Events tells people what happens; nil tells nobody. New makes one where it reads from an API, unless NoEvents.
	Events   record.EventRecorder
	NoEvents bool

	endEvents func()               // ends what New made for Events; nil where it made nothing
	refused   *controller.Refusals // what New's clients may not do; nil where it made none

	Interval        time.Duration // between two read-backs of a CNF; 0 is DefaultSDWANInterval
	StatusInterval  time.Duration // between two collections of what CNFs report; 0 collects nothing
	StatusNamespace string        // where CNFStatus objects show the CNFs of all namespaces; "" is the default
	ResolveInterval time.Duration // between two looks at DNS; 0 is DefaultResolveInterval

	ClusterWide    bool   // objects are for the CNFs of their purpose in every namespace
	ServiceRules   string // which Services CNFs offer, see resources.ParseServiceRules; "" is off
	ServicePurpose string // of the CNFs that offer Services without a label of their own
	PlainHTTP      bool   // talks HTTP to CNFs that name no certificate; false leaves them alone

	// Resolve finds the addresses of a DNS name, as net.Resolver.LookupNetIP does; nil asks the system.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial opens connections to CNFs; nil uses the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Target makes the target of a CNF; nil is the backend openwrt.
	Target func(Device) (*builtin.Target, error)
}

// withDefaults fills in what the zero value leaves open.
func (o SDWAN) withDefaults() SDWAN {
	o.Interval = cmp.Or(o.Interval, DefaultSDWANInterval)
	o.ResolveInterval = cmp.Or(o.ResolveInterval, DefaultResolveInterval)
	o.StatusNamespace = cmp.Or(o.StatusNamespace, DefaultStatusNamespace)
	if o.Target == nil {
		o.Target = deviceTarget
	}
	return o
}

// Device is a CNF to be configured, and how to talk to it.
type Device struct {
	Target string // its name in logs, metrics and status: openwrt/NAMESPACE/POD
	Owner  string // mark on all that is written
	CNF    intent.CNFID
	Addr   netip.Addr // where Client finds it
	Client openwrt.Options
	Secret func(ctx context.Context, ref intent.SecretRef) ([]byte, error)
}
