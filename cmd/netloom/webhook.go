package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/netloom/netloom/pkg/config"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/pkg/version"
	"github.com/netloom/netloom/pkg/watch"
	"github.com/netloom/netloom/pkg/webhook"
	"github.com/netloom/netloom/pkg/webhook/advice"
	"github.com/netloom/netloom/pkg/webhook/bucket"
	"github.com/netloom/netloom/pkg/webhook/certs"
	"github.com/netloom/netloom/pkg/webhook/consistency"
)

// webhookFlags are what netloom webhook is told.
type webhookFlags struct {
	kubeconfig, context string

	opts     webhook.Options
	modes    map[consistency.Check]*string
	policies string // off or warn
	maxFlows int

	cert, key       string
	secret, service string // namespace/name
	names           []string
	configurations  []string

	logLevel, logFormat string
}

func newWebhook() *cobra.Command {
	f := &webhookFlags{modes: map[consistency.Check]*string{}}
	cmd := &cobra.Command{
		Use:   "webhook",
		Short: "Answer the admission reviews of a cluster: who may write which SD-WAN object, and what looks wrong",
		Long: `webhook answers a cluster's admission reviews until it is told to stop. It refuses writes of SD-WAN objects in buckets that no
role grants to the user, a second workload for a CNF and changed labels, and warns of references to what is not there, keys in
clear, and NetworkPolicies that select nobody. docs/admission.md tells what is looked at, and deploy/ has the manifests.

Its certificate comes from files, which are read again when they change, or it makes one itself, keeps it in a Secret, has the
API server trust it, and renews it.`,
		Example: `  netloom webhook --tls-secret netloom-system/netloom-webhook --tls-service netloom-system/netloom-webhook
  netloom webhook --kubeconfig ~/.kube/config --tls-cert tls.crt --tls-key tls.key --dependencies deny`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.bind(cmd)
	return cmd
}

func (f *webhookFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file; without one, the cluster it runs in")
	flags.StringVar(&f.context, "context", "", "context of the kubeconfig file, the current one unless given")
	flags.StringVar(&f.opts.Listen, "listen", ":9443", "address to answer reviews on")
	flags.StringVar(&f.opts.HealthListen, "health-listen", ":8080", "address for /healthz, /readyz and /metrics; empty serves none")
	flags.DurationVar(&f.opts.ShutdownDelay, "shutdown-delay", 5*time.Second, "how long reviews are answered after it was told to stop")
	flags.StringVar(&f.cert, "tls-cert", "", "file of the certificate, with --tls-key")
	flags.StringVar(&f.key, "tls-key", "", "file of the certificate's key")
	flags.StringVar(&f.secret, "tls-secret", "", "NAMESPACE/NAME of the Secret to keep certificates of its own in, instead of files")
	flags.StringVar(&f.service, "tls-service", "", "NAMESPACE/NAME of the Service it is called by, with --tls-secret")
	flags.StringSliceVar(&f.names, "tls-name", nil, "further DNS names it is called by, with --tls-secret")
	flags.StringSliceVar(&f.configurations, "webhook-configuration", []string{"netloom-webhook"},
		"ValidatingWebhookConfigurations that are told which authority to trust, with --tls-secret")
	flags.StringSliceVar(&f.opts.Bucket.ExemptGroups, "exempt-group", bucket.DefaultExemptGroups(), "groups that may write every bucket")
	flags.StringSliceVar(&f.opts.Bucket.ExemptUsers, "exempt-user", nil,
		"users that may write every bucket, besides the garbage collector and the other controllers that clean up")
	flags.StringVar(&f.opts.Bucket.DefaultBucket, "default-bucket", "", "bucket of objects without the label; empty lets everybody write them")
	for _, c := range []struct {
		check consistency.Check
		mode  webhook.Mode
		what  string
	}{
		{consistency.Dependencies, webhook.Warn, "objects that refer to what is not there, or go while they are needed"},
		{consistency.DuplicateCNF, webhook.Deny, "a second workload with the same sdewanPurpose in a namespace"},
		{consistency.Purpose, webhook.Deny, "a label sdewanPurpose that changes or goes"},
		{consistency.PlainSecrets, webhook.Warn, "keys that stand in objects"},
	} {
		f.modes[c.check] = flags.String(string(c.check), string(c.mode), c.what+": deny, warn or off")
		complete(cmd, string(c.check), "deny", "warn", "off")
	}
	flags.StringVar(&f.policies, "network-policies", "warn", "NetworkPolicies that may not be meant so: warn or off")
	complete(cmd, "network-policies", "warn", "off")
	flags.IntVar(&f.maxFlows, "max-flows", 10000, "OpenFlow flows that a NetworkPolicy may cost a node before its author is told; 0 does not look")
	flags.StringVar(&f.logLevel, "log-level", "info", "error, warn, info or debug")
	flags.StringVar(&f.logFormat, "log-format", string(config.LogAuto), "text, json, or auto: text for a terminal")
}

// check completes the options, and says what is wrong with the flags.
func (f *webhookFlags) check() error {
	var errs []error
	f.opts.Checks = map[consistency.Check]webhook.Mode{}
	for check, text := range f.modes {
		mode, err := webhook.ParseMode(*text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", check, err))
		}
		f.opts.Checks[check] = mode
	}
	switch f.policies {
	case "off":
	case "warn":
		nb, err := ovsdb.ParseSchema(schema.NB2303())
		errs = append(errs, err)
		f.opts.Advice = &advice.Options{MaxFlows: f.maxFlows, Schema: nb}
	default:
		errs = append(errs, fmt.Errorf("--network-policies: %q: expected warn or off", f.policies))
	}
	switch files, own := f.cert != "" && f.key != "", f.secret != "" && f.service != ""; {
	case files == own, files && f.secret != "", own && f.cert != "":
		errs = append(errs, errors.New("expected either --tls-cert and --tls-key, or --tls-secret and --tls-service"))
	case own:
		for _, flag := range [][2]string{{"tls-secret", f.secret}, {"tls-service", f.service}} {
			if namespace, name, _ := strings.Cut(flag[1], "/"); namespace == "" || name == "" || strings.Contains(name, "/") {
				errs = append(errs, fmt.Errorf("--%s: %q: expected NAMESPACE/NAME", flag[0], flag[1]))
			}
		}
	}
	f.opts.Bucket.ExemptUsers = append(f.opts.Bucket.ExemptUsers, bucket.DefaultExemptUsers()...)
	return errors.Join(errs...)
}

func (f *webhookFlags) run(cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return err
	}
	level, err := logrus.ParseLevel(f.logLevel)
	if err != nil {
		return fmt.Errorf("--log-level: %w", err)
	}
	log := newLog(cmd, &config.Config{LogLevel: level, LogFormat: config.LogFormat(f.logFormat)})
	clients, err := f.clients()
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(cmd.Context())
	if f.opts.Certificate, err = f.certificate(clients.Kubernetes, group, cmd, log); err != nil {
		return err
	}
	server, err := webhook.New(clients, f.opts, log)
	if err != nil {
		return err
	}
	log.WithField("version", version.Current().Version).Info("netloom webhook is starting")
	group.Go(func() error { return server.Run(ctx) })
	return group.Wait()
}

// clients connects to the API.
func (f *webhookFlags) clients() (webhook.Clients, error) {
	var c webhook.Clients
	cfg, err := watch.KubernetesConfig(f.kubeconfig, f.context)
	if err != nil {
		return c, err
	}
	if c.Kubernetes, err = kubernetes.NewForConfig(cfg); err != nil {
		return c, fmt.Errorf("connect to Kubernetes: %w", err)
	}
	if c.Metadata, err = metadata.NewForConfig(cfg); err != nil {
		return c, fmt.Errorf("connect to Kubernetes: %w", err)
	}
	cfg.ContentType, cfg.AcceptContentTypes = runtime.ContentTypeJSON, "" // resources of one's own have no other
	if c.Dynamic, err = dynamic.NewForConfig(cfg); err != nil {
		return c, fmt.Errorf("connect to Kubernetes: %w", err)
	}
	return c, nil
}

// certificate says where certificates come from, and has the group keep those of its own.
func (f *webhookFlags) certificate(
	client kubernetes.Interface, group *errgroup.Group, cmd *cobra.Command, log logrus.FieldLogger,
) (func() (*tls.Certificate, error), error) {
	if f.cert != "" {
		files, err := certs.NewFiles(f.cert, f.key, log)
		if err != nil {
			return nil, err
		}
		return files.Certificate, nil
	}
	namespace, name, _ := strings.Cut(f.secret, "/")
	serviceNamespace, service, _ := strings.Cut(f.service, "/")
	managed := certs.NewManaged(client, certs.Options{
		Namespace: namespace, Secret: name, Configurations: f.configurations,
		Names: append([]string{service + "." + serviceNamespace + ".svc"}, f.names...),
	}, log)
	group.Go(func() error { return managed.Run(cmd.Context()) })
	return managed.Certificate, nil
}
