package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/answers/lint"
	"github.com/netloom/netloom/pkg/feedback"
	"github.com/netloom/netloom/pkg/inputs/kube"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/serve/webhook"
	"github.com/netloom/netloom/pkg/serve/webhook/certs"
)

// relisten is the pause before a failed listener of reviews is opened again.
const relisten = time.Second

// Webhook configures how the admission reviews of the cluster are answered. The zero value answers none.
type Webhook struct {
	webhook.Options // Listen "" answers none; Certificate, Trouble and Advice are filled in

	Clients *ReviewClients // nil connects to the cluster that is read

	NetworkPolicies bool // warns about those that are probably mistakes
	MaxFlows        int  // flows on a node above which an author is warned; 0 does not check

	CertFile, KeyFile string        // "" uses certificates of its own
	Managed           certs.Options // those of its own
}

// ReviewClients are connections to the API whose reviews are answered.
type ReviewClients struct {
	Kubernetes kubernetes.Interface
	Dynamic    dynamic.Interface
	Metadata   metadata.Interface
}

// admission answers reviews independently of the rest of the daemon. Neither waits for the other.
type admission struct {
	server  *webhook.Server
	source  *kube.Source   // of what only reviews need
	managed *certs.Managed // nil if certificates come from files
	address string
	log     logrus.FieldLogger

	listener atomic.Pointer[net.Listener]
	failed   atomic.Pointer[error] // why it is not listening; nil while it is
}

// admit makes the admission, if reviews are to be answered. It is fed by the source of the daemon.
func (d *Daemon) admit() error {
	opts := d.opts.Webhook
	if opts.Listen == "" {
		return nil
	}
	var shared *kube.Source
	if d.clients != nil {
		shared = d.clients.source
	}
	if opts.Clients == nil {
		if d.clients == nil {
			return errors.New("admission reviews come from a Kubernetes API, and none is read")
		}
		c, err := reviewClients(d.clients.config)
		if err != nil {
			return err
		}
		opts.Clients = c
	}
	var err error
	d.webhook, err = newAdmission(shared, opts, d.log)
	return err
}

// newAdmission makes an admission that does not contact the API before it runs. It does not read the kinds that shared reads; shared may be
// nil.
func newAdmission(shared *kube.Source, opts Webhook, log logrus.FieldLogger) (*admission, error) {
	c, a := opts.Clients, &admission{address: opts.Listen, log: log}
	if opts.CertFile != "" {
		files := certs.NewFiles(opts.CertFile, opts.KeyFile, log)
		opts.Certificate, opts.Trouble = files.Certificate, files.Trouble
	} else {
		a.managed = certs.NewManaged(c.Kubernetes, opts.Managed, log)
		opts.Certificate, opts.Trouble = a.managed.Certificate, a.managed.Trouble
	}
	if opts.NetworkPolicies {
		explainer, err := builtin.NewExplainer(builtin.OVN, "advice", 0)
		if err != nil {
			return nil, fmt.Errorf("the schema that comes with netloom: %w", err)
		}
		opts.Advice = &lint.Costs{MaxFlows: opts.MaxFlows, Explainer: explainer}
	}
	var sources []webhook.Source
	kinds := opts.Kinds()
	if shared != nil {
		sources = append(sources, shared.NewReader())
		kinds = slices.DeleteFunc(kinds, shared.Reads)
	}
	a.source = kube.New(c.Kubernetes, kube.Options{
		Options: source.Options{Kinds: kinds}, SDWAN: c.Dynamic, ClusterPolicies: c.Dynamic, Metadata: c.Metadata,
	}, log)
	var err error
	a.server, err = webhook.New(append(sources, a.source), opts.Options, log)
	return a, err
}

// reviewClients connects to the API whose reviews are answered.
func reviewClients(config *rest.Config) (*ReviewClients, error) {
	var c ReviewClients
	var errs [3]error
	c.Kubernetes, errs[0] = kubernetes.NewForConfig(config)
	c.Metadata, errs[1] = metadata.NewForConfig(config)
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, "" // custom resources have no other
	c.Dynamic, errs[2] = dynamic.NewForConfig(config)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("connect to Kubernetes: %w", err)
	}
	return &c, nil
}

// feed keeps the data for reviews, and the certificate, up to date until ctx ends.
func (a *admission) feed(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { _ = a.source.Run(ctx) }) // it fails only when it runs twice
	running.Go(func() { a.server.Feed(ctx) })
	if a.managed != nil {
		running.Go(func() { _ = a.managed.Run(ctx) }) // it only ends with its context
	}
}

// listen opens the address for reviews. An address that is taken, or does not belong to this machine, has to be fixed manually.
func (a *admission) listen(ctx context.Context) error {
	if a == nil {
		return nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", a.address)
	if err != nil {
		return fmt.Errorf("serve admission reviews: %w", err)
	}
	a.listener.Store(&l)
	return nil
}

// run answers reviews until ctx ends, and for a while after that. Faults are reported, and retried.
func (a *admission) run(ctx context.Context) error {
	if a == nil {
		return nil
	}
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { a.feed(lasting) })
	for {
		err := a.server.Serve(ctx, *a.listener.Load(), nil)
		for ctx.Err() == nil && err != nil {
			a.failed.Store(&err)
			a.log.WithError(err).Error("admission reviews are not answered, trying again")
			if feedback.Wait(ctx, relisten) {
				err = a.listen(ctx)
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		a.failed.Store(nil)
	}
}

// unready returns why no review should be sent here; empty if they may be, or if none are answered.
func (a *admission) unready() []string {
	if a == nil {
		return nil
	}
	if err := a.failed.Load(); err != nil {
		return []string{"admission: " + (*err).Error()}
	}
	if text := a.server.Unready(); text != "" {
		return []string{"admission: " + text}
	}
	return nil
}

// degraded lists faults that do not prevent answers.
func (a *admission) degraded() []string {
	if a == nil {
		return nil
	}
	return a.server.Degraded()
}

// gatherers returns the metrics of reviews.
func (a *admission) gatherers() []prometheus.Gatherer {
	if a == nil {
		return nil
	}
	return []prometheus.Gatherer{a.server.Gatherer()}
}

// RunWebhook answers the admission reviews of a cluster until ctx ends, and does nothing else. Without a kubeconfig it uses
// the cluster that the process runs in.
func RunWebhook(ctx context.Context, kubeconfig, kubeContext string, opts Webhook, log logrus.FieldLogger) error {
	config, err := kube.Config(kube.Login{Kubeconfig: kubeconfig, Context: kubeContext})
	if err != nil {
		return err
	}
	if opts.Clients, err = reviewClients(config); err != nil {
		return err
	}
	a, err := newAdmission(nil, opts, log)
	if err != nil {
		return err
	}
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { a.feed(lasting) })
	return a.server.Run(ctx)
}
