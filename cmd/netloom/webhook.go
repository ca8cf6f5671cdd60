package main

import (
	"os"
	"strings"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/cobra"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/config"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/version"
)

func newWebhook() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "webhook",
		Short: "Answer the admission reviews of a cluster for SD-WAN objects and NetworkPolicies",
		Long: `Answer a cluster's admission reviews until interrupted. Deny writes of SD-WAN objects in buckets that no role grants to the
user, a second workload for a CNF, and changed labels. Warn about references to missing objects, unencrypted keys, and
NetworkPolicies that select no pod. docs/admission.md describes the checks, and deploy/ has the manifests.

The certificate comes from files, which are read again when they change. Otherwise the webhook creates one, stores it in a
Secret, configures the API server to trust it, and renews it.

netloom run --webhook-listen answers the same reviews. Its webhook-… settings are the flags of this command; both read
the same NETLOOM_WEBHOOK_… variables and the same file.`,
		Example: `  netloom webhook --tls-secret netloom-system/netloom-webhook --tls-service netloom-system/netloom-webhook
  netloom webhook --kubeconfig ~/.kube/config --tls-cert tls.crt --tls-key tls.key --dependencies warn`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.LoadWebhook(cmd.Flags(), os.LookupEnv, os.ReadFile, new(builtin.Settings).Groups()...)
			if err != nil {
				return err
			}
			opts := webhookOptions(cfg)
			opts.HealthListen = cfg.Listen
			log := newLog(cmd, cfg)
			limitMemory(log, memlimit.FromCgroup)
			log.WithField("version", version.Current().Version).Info("netloom webhook is starting")
			return daemon.RunWebhook(cmd.Context(), cfg.Kubeconfig, cfg.KubeContext, opts, log)
		},
	}
	config.BindWebhook(cmd.Flags())
	for _, s := range config.WebhookSettings() {
		if len(s.Choices) > 0 {
			complete(cmd, strings.TrimPrefix(s.Flag(), "--"), s.Choices...)
		}
	}
	return cmd
}
