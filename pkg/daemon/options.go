package daemon

import (
	"math"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/election"
	"github.com/netloom/netloom/pkg/feedback/sdwan"
	"github.com/netloom/netloom/pkg/inputs/kube"
	"github.com/netloom/netloom/pkg/inputs/resolver"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/pkg/serve"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/budget"
	resources "github.com/netloom/netloom/translator/sdwan"
)

// Options configures what a daemon reads, writes and serves.
type Options struct {
	Source    source.Source // what to read; nil is what the following select
	Manifests string        // directory of manifests; "" reads from Kubernetes
	// Transport reaches Kubernetes with credentials of its own; nil is by the next four.
	Transport   http.RoundTripper
	Gatherers   []prometheus.Gatherer // of metrics that are served with those of the daemon, such as those of Transport
	Kubeconfig  string                // "" is the cluster that the process runs in
	KubeContext string                // "" is the current context
	As          string                // user to act as; "" is that of the context
	AsGroups    []string              // and its groups
	Read        source.Options        // which kinds are read
	// OnlyNamespace is the only one whose objects ManifestsOnce reads: see kube.Options. A daemon reads all.
	OnlyNamespace string
	Beyond        bool // ManifestsOnce also lists what decides on connections and is not read; a daemon always does
	// ConfirmInterval is the time between two comparisons of the objects held of a kind with those of the API; zero is
	// confirm.DefaultInterval.
	ConfirmInterval time.Duration
	MaxManifest     int64 // bytes of a file of manifests; 0 is manifest.DefaultMaxFile

	Cluster  string          // name of the cluster; "" means the only one
	Others   Others          // other clusters
	Node     string          // only its pods are subjects of policies; "" means every node
	Families intent.Families // 0 is those that pods have

	Target    builtin.Settings // of the OVN target; Log is filled in
	Reconcile reconcile.Options
	Force     bool // skips the guard for the first plan

	Listen      string // address of health and metrics, and of all else if tokens are required; "" serves nothing
	DebugListen string // address of debugging, with health and metrics; "" serves none
	Pprof       bool   // profiles are included in debugging

	UIListen string   // address of the web page; "" serves none
	ACLLogs  []string // logs of ovn-controller that the page shows connections from

	Serving serve.Options // how these are served

	// BudgetMemory is the memory for which the budgets of namespaces are sized, in bytes; 0 is the memory limit of the process.
	BudgetMemory int64

	KeepMemory bool // returns no memory to the system after read-backs, for a process with many daemons such as a test

	Leader election.Options // how one of several instances is chosen to write

	SDWAN sdwan.Options // handling of SD-WAN resources

	Resolver resolver.Options // how DNS names in objects are looked up

	Webhook Webhook // which admission reviews are answered

	Feedback Feedback // what is reported about policies
}

// translation returns the options of the translator. Invalid rules for Services are ignored here; New rejects them.
func (o *Options) translation() translator.Options {
	rules, _ := resources.ParseServiceRules(o.SDWAN.ServiceRules)
	return translator.Options{
		Cluster: o.Cluster, ClusterSet: o.Others.clusterSet(), Families: o.Families, Node: o.Node, SDWAN: resources.Options{
			ClusterWide: o.SDWAN.ClusterWide, ServiceRules: rules, ServicePurpose: o.SDWAN.ServicePurpose,
		},
		Shares:    o.shares(),
		PartsOnly: !o.SDWAN.Enabled && o.Target.PartsOnly(), // CNFs take whole rules
	}
}

// shares returns the budgets of namespaces.
func (o *Options) shares() budget.All {
	memory := o.BudgetMemory
	if limit := debug.SetMemoryLimit(-1); memory == 0 && limit != math.MaxInt64 {
		memory = limit
	}
	return budget.SharesOf(memory)
}

// login is how to connect to the Kubernetes API.
func (o *Options) login() kube.Login {
	return kube.Login{Transport: o.Transport, Kubeconfig: o.Kubeconfig, Context: o.KubeContext, As: o.As, AsGroups: o.AsGroups}
}
