package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
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

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/config"
	"github.com/netloom/netloom/pkg/gateway"
	"github.com/netloom/netloom/pkg/gateway/audit"
	"github.com/netloom/netloom/pkg/gateway/credential"
	"github.com/netloom/netloom/pkg/gateway/identity"
	"github.com/netloom/netloom/pkg/gateway/registry"
	"github.com/netloom/netloom/pkg/gateway/watchcache"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/serve/listener"
	"github.com/netloom/netloom/pkg/serve/webhook/certs"
	"github.com/netloom/netloom/pkg/version"
)

func newGateway() *cobra.Command {
	var check, connect bool
	cmd := &cobra.Command{
		Use:   "gateway",
		Short: "Serve the API servers of several clusters at one address",
		Long: `Serve the API servers of several clusters at one address until interrupted. Each cluster is described by an UpstreamCluster:
its API servers, the credentials of the gateway, and which requests are limited. The host name of a request selects the
cluster. Clients keep their own certificates and tokens, and have the same rights as without the gateway.

UpstreamClusters are read from a directory of files, or from a host cluster with the CRD from deploy/crds. Changes apply
without a restart.

To try it, --from-kubeconfig serves the clusters of a kubeconfig to yourself: it prints a kubeconfig with the same contexts
that go through the gateway. Only the holder of that kubeconfig is served, with the rights of the users in yours.

Settings come from flags, NETLOOM_… environment variables and a file; docs/config.md lists them.`,
		Example: `  netloom gateway --from-kubeconfig ~/.kube/config --write-kubeconfig gateway.kubeconfig   # try it
  netloom gateway --clusters ./clusters --tls-cert tls.crt --tls-key tls.key
  netloom gateway --clusters ./clusters --check                                  # report faults in the files, and exit
  netloom gateway --kubeconfig ~/.kube/config --tls-cert tls.crt --tls-key tls.key   # watch a host cluster`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.LoadGateway(cmd.Flags(), os.LookupEnv, os.ReadFile, new(builtin.Settings).Groups()...)
			switch {
			case err != nil:
				return err
			case check && cfg.Gateway.FromKubeconfig != "":
				return checkKubeconfig(cmd, cfg.Gateway.FromKubeconfig, connect)
			case check && cfg.Gateway.Clusters == "":
				return errors.New("--check needs --clusters or --from-kubeconfig")
			case check:
				return checkClusters(cmd, &cfg.Gateway, connect)
			case connect:
				return errors.New("--connect needs --check")
			}
			log := newLog(cmd, cfg)
			limitMemory(log, memlimit.FromCgroup)
			log.WithField("version", version.Current().Version).Info("netloom gateway is starting")
			return serveGateway(cmd.Context(), cfg, log, cmd.OutOrStdout())
		},
	}
	config.BindGateway(cmd.Flags())
	for _, s := range config.GatewaySettings() {
		if len(s.Choices) > 0 {
			complete(cmd, s.FlagName(), s.Choices...)
		}
	}
	cmd.Flags().BoolVar(&check, "check", false, "report faults in the files of --clusters or in --from-kubeconfig, and exit")
	cmd.Flags().BoolVar(&connect, "connect", false, "with --check, try every API server: the connection, the credentials, their rights and the dates of certificates")
	cmd.AddCommand(newGatewayImport())
	return cmd
}

// checkClusters prints the result of --check. With connect, every API server is tried.
func checkClusters(cmd *cobra.Command, settings *config.Gateway, connect bool) error {
	dir := settings.Clusters
	good, err := registry.Check(dir)
	for _, c := range good {
		expiry := ""
		if connect {
			whole, fault := obtain(cmd.Context(), c, settings.Credentials)
			if fault == nil {
				fault = gateway.Try(cmd.Context(), whole, time.Now())
			}
			if fault != nil {
				err = errors.Join(err, fmt.Errorf("cluster %s: %w", c.Name, fault))
				continue
			}
			expiry = expiryOf(whole)
		}
		if _, failed := fmt.Fprintf(cmd.OutOrStdout(), "%s: valid, %d API servers, %d dispatch policies%s\n", c.Name, len(c.Spec.Servers), len(c.Spec.DispatchPolicies), expiry); failed != nil {
			return failed
		}
	}
	if err == nil && len(good) == 0 {
		return cannotTell("no UpstreamCluster found in %s", dir)
	}
	return err
}

// expiryOf says which of the credentials of a cluster expires first; "" if none does.
func expiryOf(c *v1alpha1.UpstreamCluster) string {
	field, at := gateway.FirstExpiry(c)
	if field == "" {
		return ""
	}
	return fmt.Sprintf("; %s expires first, at %s", field, at.UTC().Format(time.RFC3339))
}

// serveGateway serves until ctx ends.
func serveGateway(ctx context.Context, cfg *config.Config, log *logrus.Logger, out io.Writer) error {
	settings := &cfg.Gateway
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	own, err := takeOver(settings, log)
	if err != nil {
		return err
	}
	opts, err := gatewayOptions(settings, own, log)
	if err != nil {
		return err
	}
	host, err := hostCluster(cfg, own)
	if err != nil {
		return err
	}
	opts.Secrets = host.secrets()
	opts.Registerer = metrics
	if settings.AuditLog != "" {
		if opts.Audit, err = audit.Open(settings.AuditLog, log); err != nil {
			return fmt.Errorf("gateway-audit-log: %w", err)
		}
		defer func() {
			if err := opts.Audit.Close(); err != nil {
				log.WithError(err).Warn("the last audit events may be missing")
			}
		}()
	}
	// Requests in progress outlive ctx: Serve ends them.
	g := gateway.New(context.WithoutCancel(ctx), opts)
	defer g.Close()
	run, state, err := clusterSource(settings, host, g, own, log)
	if err != nil {
		return err
	}
	g.Source(state)
	on, err := new(net.ListenConfig).Listen(ctx, "tcp", settings.Listen)
	if err != nil {
		return fmt.Errorf("gateway-listen: %w", err)
	}
	if own != nil {
		if err := own.announce(on.Addr(), settings.WriteKubeconfig, out); err != nil {
			return errors.Join(err, on.Close())
		}
	}
	log.WithField("address", on.Addr().String()).Info("serving clusters")
	shutdown := gateway.Shutdown{Delay: settings.ShutdownDelay, Spread: settings.ShutdownSpread, Grace: settings.ShutdownGrace}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return g.Serve(ctx, on, shutdown) })
	group.Go(func() error { return run(ctx) })
	group.Go(func() error { return host.divide(ctx, g) })
	if cfg.Listen != "" {
		// Probes see that the gateway is stopping for as long as it stops.
		probes, stop := context.WithCancel(context.WithoutCancel(ctx))
		mux := http.NewServeMux()
		mux.Handle("/", g.Health())
		mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
		observed := make(chan error, 1)
		go func() { observed <- observeGateway(probes, cfg.Listen, mux, log) }()
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

// gatewayOptions are what the settings make of a gateway. own is nil unless it has an owner.
func gatewayOptions(settings *config.Gateway, own *takenOver, log *logrus.Logger) (opts gateway.Options, err error) {
	opts = gateway.Options{
		Log: log, StrictNames: settings.StrictNames, Audiences: settings.TokenAudiences, SharedWatches: settings.SharedWatches, ReviewInterval: settings.ReviewInterval, Clusters: settings.MaxClusters,
		Trimming: &watchcache.Trimming{Header: source.HeaderObjects, Value: source.Trimmed(), Trim: source.TrimJSON},
	}
	if settings.AccessLog {
		opts.AccessLog = log
	}
	if settings.Credentials != "" {
		opts.Users = credential.NewUsers(settings.Credentials)
	}
	if settings.TLSCert != "" {
		opts.Certificate = certs.NewFiles(settings.TLSCert, settings.TLSKey, log).Certificate
	}
	if own != nil {
		own.apply(&opts)
	}
	opts.FrontProxy, err = frontProxy(settings)
	return opts, err
}

// clusterSource returns what reads UpstreamClusters.
func clusterSource(
	settings *config.Gateway, host *hostAPI, g *gateway.Gateway, own *takenOver, log *logrus.Logger,
) (run func(context.Context) error, state func() registry.State, err error) {
	if own != nil {
		return own.serve(g)
	}
	if dir := settings.Clusters; dir != "" {
		directory := registry.NewDirectory(dir, g.Clusters(), nil, log)
		return directory.Run, directory.State, nil
	}
	api, err := registry.NewAPI(host.objects, g.Clusters(), registry.APIOptions{}, log)
	if err != nil {
		return nil, nil, err
	}
	run = func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return api.Run(ctx) })
		group.Go(func() error { return host.report(ctx, g, api, log) })
		return group.Wait()
	}
	return run, api.State, nil
}

// frontProxy returns the authenticator of trusted proxies, nil if there are none.
func frontProxy(settings *config.Gateway) (authenticator.Request, error) {
	if settings.FrontProxyCA == "" {
		return nil, nil
	}
	text, err := os.ReadFile(settings.FrontProxyCA)
	if err != nil {
		return nil, fmt.Errorf("gateway-front-proxy-ca: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, errors.New("gateway-front-proxy-ca: no certificate in PEM format")
	}
	return identity.FrontProxy(roots, settings.FrontProxyNames), nil
}

// observeGateway serves health and metrics until ctx ends.
func observeGateway(ctx context.Context, address string, handler http.Handler, log logrus.FieldLogger) error {
	on, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := listener.New(listener.Options{Handler: handler, Log: log, Header: 5 * time.Second, Read: 10 * time.Second, Write: 30 * time.Second})
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.ServeOn(on); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
