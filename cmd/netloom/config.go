package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/config"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/election"
	"github.com/netloom/netloom/pkg/feedback/sdwan"
	"github.com/netloom/netloom/pkg/gateway"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/pkg/serve"
	"github.com/netloom/netloom/pkg/serve/webhook"
	"github.com/netloom/netloom/pkg/serve/webhook/bucket"
	"github.com/netloom/netloom/pkg/serve/webhook/certs"
	"github.com/netloom/netloom/pkg/serve/webhook/consistency"
)

// configuration is the settings of a command: those of netloom itself and those of its backends.
type configuration struct {
	*config.Config
	target builtin.Settings
}

// loadConfig reads the settings of a command: defaults, file, environment, flags.
func loadConfig(cmd *cobra.Command) (*configuration, error) {
	cfg := &configuration{}
	var err error
	cfg.Config, err = config.Load(cmd.Flags(), os.LookupEnv, os.ReadFile, cfg.target.Groups()...)
	if err != nil {
		return nil, err
	}
	cfg.target.Owner, cfg.target.Cluster, cfg.target.MaxDeleteFraction = cfg.Owner, cfg.Cluster, cfg.MaxDeleteFraction
	return cfg, nil
}

// bindConfig adds a flag for every setting to a command, with shell completion of their values.
func bindConfig(cmd *cobra.Command) {
	groups := new(builtin.Settings).Groups()
	config.Bind(cmd.Flags(), groups...)
	for _, s := range config.Settings(groups...) {
		if len(s.Choices) > 0 {
			complete(cmd, s.Key, s.Choices...)
		}
	}
}

// newLog makes the log according to the settings, on the command's error stream.
func newLog(cmd *cobra.Command, cfg *config.Config) *logrus.Logger {
	log := logrus.New()
	log.SetOutput(cmd.ErrOrStderr())
	log.SetLevel(cfg.LogLevel)
	text := cfg.LogFormat == config.LogText
	if cfg.LogFormat == config.LogAuto {
		text = isTerminal(cmd.ErrOrStderr())
	}
	if text {
		log.SetFormatter(&logrus.TextFormatter{FullTimestamp: true})
	} else {
		log.SetFormatter(&logrus.JSONFormatter{})
	}
	for _, warning := range cfg.Warnings() {
		log.WithField("reason", warning).Warn("a setting is deprecated")
	}
	return log
}

// optionsOf converts the settings to options of the daemon.
func optionsOf(cfg *configuration) daemon.Options {
	return daemon.Options{
		Manifests: cfg.Manifests, Kubeconfig: cfg.Kubeconfig, KubeContext: cfg.KubeContext,
		Read: source.Options{NoServices: !cfg.Services, Endpoints: source.EndpointsAPI(cfg.EndpointsAPI), Gate: corev1.PodConditionType(cfg.Feedback.Readiness.Gate)}, MaxManifest: cfg.MaxManifestSize,
		Cluster: cfg.Cluster, Others: othersOf(cfg.Config), Families: cfg.Families, Node: cfg.ZoneNode,
		Target:          cfg.target,
		ConfirmInterval: cfg.ConfirmInterval,
		BudgetMemory:    cfg.BudgetMemory,
		Reconcile: reconcile.Options{
			Target:      "the database",
			MinInterval: cfg.MinInterval, MaxInterval: cfg.DriftInterval,
			RetryMin: cfg.RetryMin, RetryMax: cfg.RetryMax, MaxDeleteFraction: cfg.MaxDeleteFraction,
		},
		Force: cfg.Force, Serving: servingOptions(&cfg.Serving), Listen: cfg.Listen, DebugListen: cfg.DebugListen, Pprof: cfg.Pprof, UIListen: cfg.UIListen, ACLLogs: cfg.ACLLogs,
		SDWAN: sdwanOptions(&cfg.SDWAN), Webhook: webhookOptions(cfg.Config),
		Feedback: daemon.Feedback{PolicyStatus: cfg.Feedback.PolicyStatus, Events: cfg.Feedback.Events, Readiness: daemon.Readiness{
			Enabled: cfg.Feedback.Readiness.Enabled, Written: cfg.Feedback.Readiness.Proof == config.ReadinessWritten, Grace: cfg.Feedback.Readiness.Grace,
		}},
		Leader: election.Options{
			Enabled: cfg.Leader.Elect, Namespace: cfg.Leader.Namespace, Name: cfg.Leader.Name,
			LeaseDuration: cfg.Leader.LeaseDuration, RenewDeadline: cfg.Leader.RenewDeadline, RetryPeriod: cfg.Leader.RetryPeriod,
		},
	}
}

// connectUpstream has the daemon use the API servers of an UpstreamCluster, if one is set, until disconnect is called.
func connectUpstream(ctx context.Context, cfg *configuration, opts *daemon.Options, log logrus.FieldLogger) (disconnect func(), err error) {
	if cfg.UpstreamCluster == "" {
		return func() {}, nil
	}
	client, err := gateway.NewClient(context.WithoutCancel(ctx), cfg.UpstreamCluster, log)
	if err != nil {
		return nil, fmt.Errorf("upstream-cluster: %w", err)
	}
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(client)
	opts.Transport, opts.Gatherers = client, append(opts.Gatherers, metrics)
	return client.Close, nil
}

// othersOf converts the settings of other clusters to options of the daemon.
func othersOf(cfg *config.Config) daemon.Others {
	out := daemon.Others{
		Kubeconfig: cmp.Or(cfg.Others.Kubeconfig, cfg.Kubeconfig), Upstreams: daemon.Upstreams(cfg.Others.Upstreams),
		Everywhere: cfg.Others.Selectors == config.PeersSet,
	}
	for _, p := range cfg.Others.Clusters {
		out.Clusters = append(out.Clusters, daemon.Other{Name: p.Name, Context: p.Place})
	}
	for _, p := range cfg.Others.Manifests {
		out.Clusters = append(out.Clusters, daemon.Other{Name: p.Name, Manifests: p.Place})
	}
	return out
}

// servingOptions converts the settings of the HTTP servers to options of the daemon.
func servingOptions(s *config.Serving) serve.Options {
	return serve.Options{
		TLS: s.TLS != config.ServingClear, Cert: s.Cert, Key: s.Key, Kubernetes: s.Auth == config.ServingKubernetes, Hosts: s.Hosts,
	}
}

// sdwanOptions converts the settings of SD-WAN to options of the daemon.
func sdwanOptions(s *config.SDWAN) sdwan.Options {
	return sdwan.Options{
		Enabled: s.Enabled, Interval: s.Interval, StatusInterval: s.StatusInterval, StatusNamespace: s.StatusNamespace,
		PlainHTTP: s.PlainHTTP, NoEvents: !s.Events,
		ClusterWide: s.ClusterWide, ServiceRules: string(s.ServiceRules), ServicePurpose: s.ServicePurpose,
	}
}

// webhookOptions converts the settings of the webhook to options of the daemon.
func webhookOptions(cfg *config.Config) daemon.Webhook {
	w := &cfg.Webhook
	opts := daemon.Webhook{
		Options: webhook.Options{
			Listen: w.Listen, ShutdownDelay: w.ShutdownDelay,
			Bucket: bucket.Policy{
				ExemptUsers: append(bucket.DefaultExemptUsers(), w.ExemptUsers...), ExemptGroups: w.ExemptGroups, DefaultBucket: w.DefaultBucket,
			},
			Checks: map[consistency.Check]webhook.Mode{},
			Gate:   corev1.PodConditionType(cfg.Feedback.Readiness.Gate),
		},
		NetworkPolicies: w.NetworkPolicies != config.WebhookOff, MaxFlows: w.MaxFlows,
		CertFile: w.TLSCert, KeyFile: w.TLSKey,
		Managed: certs.Options{Names: w.TLSNames, Configurations: w.Configurations, Mutating: w.Mutating},
	}
	for check, mode := range map[consistency.Check]config.WebhookMode{
		consistency.Dependencies: w.Dependencies, consistency.DuplicateCNF: w.DuplicateCNF,
		consistency.Purpose: w.ImmutableLabel, consistency.PlainSecrets: w.PlainSecrets,
	} {
		if mode != config.WebhookOff {
			opts.Checks[check] = webhook.Mode(mode)
		}
	}
	opts.Managed.Namespace, opts.Managed.Secret, _ = strings.Cut(w.TLSSecret, "/")
	if namespace, name, ok := strings.Cut(w.TLSService, "/"); ok {
		opts.Managed.Names = append([]string{name + "." + namespace + ".svc"}, w.TLSNames...)
	}
	return opts
}
