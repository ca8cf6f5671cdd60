package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/client-go/dynamic"

	"github.com/netloom/netloom/pkg/config"
	"github.com/netloom/netloom/pkg/gateway"
	"github.com/netloom/netloom/pkg/gateway/identity"
	"github.com/netloom/netloom/pkg/gateway/registry"
	"github.com/netloom/netloom/pkg/gateway/watchcache"
	"github.com/netloom/netloom/pkg/source"
	"github.com/netloom/netloom/pkg/source/kube"
	"github.com/netloom/netloom/pkg/version"
	"github.com/netloom/netloom/pkg/webhook/certs"
)

// gatewayFlags are the flags of netloom gateway.
type gatewayFlags struct {
	clusters, kubeconfig, kubeContext         string
	listen, metricsListen, cert, key          string
	frontProxyCA                              string
	frontProxyNames, audiences                []string
	check, strict, accessLog, share, logDebug bool
	shutdown                                  gateway.Shutdown
}

func newGateway() *cobra.Command {
	var f gatewayFlags
	cmd := &cobra.Command{
		Use:   "gateway",
		Short: "Serve the API servers of several clusters at one address",
		Long: `Serve the API servers of several clusters at one address until interrupted. Each cluster is described by an UpstreamCluster:
its API servers, the credentials of the gateway, and which requests are limited. The host name of a request selects the
cluster. Clients keep their own certificates and tokens, and have the same rights as without the gateway.

UpstreamClusters are read from a directory of files, or from a host cluster with the CRD from deploy/crds. Changes apply
without a restart.`,
		Example: `  netloom gateway --clusters ./clusters --tls-cert tls.crt --tls-key tls.key
  netloom gateway --clusters ./clusters --check                                  # report faults in the files, and exit
  netloom gateway --kubeconfig ~/.kube/config --tls-cert tls.crt --tls-key tls.key   # watch a host cluster`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case (f.cert == "") != (f.key == ""):
				return errors.New("--tls-cert and --tls-key must be given together")
			case f.check && f.clusters == "":
				return errors.New("--check needs --clusters")
			case f.check:
				return f.report(cmd)
			}
			level := logrus.InfoLevel
			if f.logDebug {
				level = logrus.DebugLevel
			}
			log := newLog(cmd, &config.Config{LogLevel: level, LogFormat: config.LogAuto})
			limitMemory(log, memlimit.FromCgroup)
			log.WithField("version", version.Current().Version).Info("netloom gateway is starting")
			return f.serve(cmd.Context(), log)
		},
	}
	f.bind(cmd)
	return cmd
}

func (f *gatewayFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.clusters, "clusters", "", "directory with UpstreamClusters in YAML or JSON; default is to watch a host cluster")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the host cluster; default is the cluster that netloom runs in")
	flags.StringVar(&f.kubeContext, "context", "", "context in the kubeconfig; default is its current context")
	flags.BoolVar(&f.check, "check", false, "report faults in the files of --clusters, and exit")
	flags.StringVar(&f.listen, "listen", ":6443", "address to serve on")
	flags.StringVar(&f.metricsListen, "metrics-listen", "127.0.0.1:8080", "address of /healthz, /readyz and /metrics, without TLS; empty serves none")
	flags.StringVar(&f.cert, "tls-cert", "", "certificate for clusters without one of their own; it is read again when it changes")
	flags.StringVar(&f.key, "tls-key", "", "key of --tls-cert")
	flags.BoolVar(&f.strict, "strict-names", false, "reject requests whose host name selects another cluster than the TLS server name")
	flags.StringSliceVar(&f.audiences, "token-audiences", nil, "audiences of tokens; default is those of each cluster's API servers")
	flags.StringVar(&f.frontProxyCA, "front-proxy-ca", "", "CA certificates of proxies whose X-Remote-User, X-Remote-Uid, X-Remote-Group and X-Remote-Extra- headers are trusted")
	flags.StringSliceVar(&f.frontProxyNames, "front-proxy-names", nil, "names in the certificates of such proxies; default is any name")
	flags.BoolVar(&f.share, "shared-watches", false, "serve lists and watches of common kinds from one watch for all clients; the gateway must be allowed to list and watch them")
	flags.BoolVar(&f.accessLog, "access-log", true, "log the requests for which an UpstreamCluster turns the access log on")
	flags.BoolVar(&f.logDebug, "debug", false, "log more")
	flags.DurationVar(&f.shutdown.Delay, "shutdown-delay", 5*time.Second, "time between SIGTERM, when /readyz fails, and the end of the listener")
	flags.DurationVar(&f.shutdown.Spread, "shutdown-spread", 15*time.Second, "time over which watches end, each at a random moment")
	flags.DurationVar(&f.shutdown.Grace, "shutdown-grace", 5*time.Second, "further time for all other requests")
}

// report prints the result of --check.
func (f *gatewayFlags) report(cmd *cobra.Command) error {
	good, err := registry.Check(f.clusters)
	for _, c := range good {
		if _, failed := fmt.Fprintf(cmd.OutOrStdout(), "%s: valid, %d API servers, %d dispatch policies\n", c.Name, len(c.Spec.Servers), len(c.Spec.DispatchPolicies)); failed != nil {
			return failed
		}
	}
	if err == nil && len(good) == 0 {
		return cannotTell("there is no UpstreamCluster in %s", f.clusters)
	}
	return err
}

// serve serves until ctx ends.
func (f *gatewayFlags) serve(ctx context.Context, log *logrus.Logger) error {
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	opts := gateway.Options{
		Log: log, StrictNames: f.strict, Audiences: f.audiences, SharedWatches: f.share, Registerer: metrics,
		Trimming: &watchcache.Trimming{Header: source.HeaderObjects, Value: source.Trimmed(), Trim: source.TrimJSON},
	}
	if f.accessLog {
		opts.AccessLog = log
	}
	if f.cert != "" {
		opts.Certificate = certs.NewFiles(f.cert, f.key, log).Certificate
	}
	var err error
	if opts.FrontProxy, err = f.frontProxy(); err != nil {
		return err
	}
	// Requests in progress outlive ctx: Serve ends them.
	g := gateway.New(context.WithoutCancel(ctx), opts)
	run, synced, err := f.source(g, log)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	log.WithField("address", listener.Addr().String()).Info("serving clusters")
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return g.Serve(ctx, listener, f.shutdown) })
	group.Go(func() error { return run(ctx) })
	if f.metricsListen != "" {
		// Probes see that the gateway is stopping for as long as it stops.
		probes, stop := context.WithCancel(context.WithoutCancel(ctx))
		mux := http.NewServeMux()
		mux.Handle("/", g.Health(synced))
		mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
		observed := make(chan error, 1)
		go func() { observed <- observeGateway(probes, f.metricsListen, mux) }()
		group.Go(func() error {
			select {
			case err := <-observed:
				observed <- nil
				return err
			case <-ctx.Done():
				return nil
			}
		})
		defer func() {
			stop()
			<-observed
		}()
	}
	return group.Wait()
}

// source returns what reads UpstreamClusters.
func (f *gatewayFlags) source(g *gateway.Gateway, log *logrus.Logger) (run func(context.Context) error, synced func() bool, err error) {
	if f.clusters != "" {
		directory := registry.NewDirectory(f.clusters, g.Clusters(), nil, log)
		return directory.Run, func() bool { return directory.State().Synced }, nil
	}
	host, err := kube.Config(kube.Login{Kubeconfig: f.kubeconfig, Context: f.kubeContext})
	if err != nil {
		return nil, nil, err
	}
	client, err := dynamic.NewForConfig(host)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to the host cluster: %w", err)
	}
	api, err := registry.NewAPI(client, g.Clusters(), registry.APIOptions{}, log)
	if err != nil {
		return nil, nil, err
	}
	return api.Run, func() bool { return api.State().Synced }, nil
}

// frontProxy returns the authenticator of trusted proxies, nil if there are none.
func (f *gatewayFlags) frontProxy() (authenticator.Request, error) {
	if f.frontProxyCA == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.frontProxyCA)
	if err != nil {
		return nil, fmt.Errorf("--front-proxy-ca: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, errors.New("--front-proxy-ca: there is no certificate in PEM format")
	}
	return identity.FrontProxy(roots, f.frontProxyNames), nil
}

// observeGateway serves health and metrics until ctx ends.
func observeGateway(ctx context.Context, address string, handler http.Handler) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("--metrics-listen: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
