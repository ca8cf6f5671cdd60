package sdwan

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/feedback"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// Defaults of Options.
const (
	DefaultInterval        = 30 * time.Second
	DefaultStatusNamespace = "sdewan-system"
)

// Options configures the handling of SD-WAN resources. The zero value ignores them.
type Options struct {
	Enabled bool

	// Dynamic writes status and finalizers; nil writes none, as with a directory.
	Dynamic dynamic.Interface
	// Secrets reads passwords, keys and certificates; nil finds none.
	Secrets source.Secrets
	// Events records Events of SD-WAN objects and of the pods of CNFs; nil records none. With NoEvents, none are wanted.
	Events   record.EventRecorder
	NoEvents bool
	// Refused records the requests that the API forbids; nil ignores them.
	Refused *feedback.Refusals

	Interval        time.Duration // between two read-backs of a device; 0 means the default
	StatusInterval  time.Duration // between two collections of reports of CNFs; 0 collects none
	StatusNamespace string        // where CNFStatus objects show the CNFs of all namespaces; "" means the default

	ClusterWide    bool   // objects are for the CNFs of their purpose in every namespace
	ServiceRules   string // which Services CNFs offer, see ParseServiceRules in translator/sdwan; "" means off
	ServicePurpose string // of the CNFs that offer Services without a label of their own
	PlainHTTP      bool   // connects by HTTP to CNFs that name no certificate; if false, they are not configured

	// Dial opens connections to devices; nil uses the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Target makes the target of a device.
	Target func(Device) (*Target, error)
}

// withDefaults fills in what is zero.
func (o Options) withDefaults() Options {
	o.Interval = cmp.Or(o.Interval, DefaultInterval)
	o.StatusNamespace = cmp.Or(o.StatusNamespace, DefaultStatusNamespace)
	return o
}

// Device is the device of a CNF, and how to connect to it.
type Device struct {
	Target string // its name in logs, metrics and status: openwrt/NAMESPACE/POD
	Owner  string // mark on everything that is written
	CNF    intent.CNFID
	Addr   netip.Addr // where Client connects to
	Client openwrt.Options
	Secret func(ctx context.Context, ref intent.SecretRef) ([]byte, error)
}

// Target is the backend of a device.
type Target struct {
	Backend backends.Backend
	// Run keeps the connection of the backend until ctx ends; nil if it needs none.
	Run func(ctx context.Context) error
}
