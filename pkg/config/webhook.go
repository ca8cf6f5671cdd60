package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/netloom/netloom/pkg/config/setting"
)

// Webhook configures the admission webhook. `netloom run` serves it in addition to everything else, and `netloom webhook`
// serves nothing else.
type Webhook struct {
	Listen        string // "" disables it
	ShutdownDelay time.Duration

	TLSCert, TLSKey       string   // files; "" generates certificates
	TLSSecret, TLSService string   // NAMESPACE/NAME
	TLSNames              []string // in addition to that of the Service
	Configurations        []string // ValidatingWebhookConfigurations whose caBundle is kept up to date
	Mutating              []string // MutatingWebhookConfigurations, likewise

	ExemptGroups, ExemptUsers []string
	DefaultBucket             string // "" lets all users write objects without the label

	Dependencies, DuplicateCNF, ImmutableLabel, PlainSecrets WebhookMode
	NetworkPolicies                                          WebhookMode // off or warn
	MaxFlows                                                 int         // 0 disables the check
}

// WebhookMode is the reaction to a finding.
type WebhookMode string

// The modes of the webhook.
const (
	WebhookDeny WebhookMode = "deny"
	WebhookWarn WebhookMode = "warn"
	WebhookOff  WebhookMode = "off"
)

// webhookPrefix is the prefix of the webhook's settings. The flags of `netloom webhook` do not have it.
const webhookPrefix = "webhook-"

func (c *Config) webhookSettings() []setting.Setting {
	modes := []WebhookMode{WebhookDeny, WebhookWarn, WebhookOff}
	return append(c.webhookServing(),
		setting.Names("webhook-exempt-group", "system:masters", "groups whose members may write to every bucket",
			&c.Webhook.ExemptGroups),
		setting.Names("webhook-exempt-user", "", "users that may write to every bucket, in addition to the garbage collector and other controllers that clean up",
			&c.Webhook.ExemptUsers),
		setting.Matching("webhook-default-bucket", "", "bucket of SD-WAN objects without the label; empty allows everyone to write them",
			"a label value", `^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$`,
			&c.Webhook.DefaultBucket),
		setting.Choice("webhook-dependencies", "deny", "action for SD-WAN objects that refer to a missing object, or that are deleted while in use", modes,
			&c.Webhook.Dependencies),
		setting.Choice("webhook-duplicate-cnf", "deny", "action for a second workload with the same sdewanPurpose in a namespace", modes,
			&c.Webhook.DuplicateCNF),
		setting.Choice("webhook-immutable-label", "deny", "action when the label sdewanPurpose is changed or removed", modes,
			&c.Webhook.ImmutableLabel),
		setting.Choice("webhook-plain-secrets", "warn", "action for keys in SD-WAN objects", modes,
			&c.Webhook.PlainSecrets),
		setting.Choice("webhook-network-policies", "warn", "action for NetworkPolicies with a probable mistake", []WebhookMode{WebhookWarn, WebhookOff},
			&c.Webhook.NetworkPolicies),
		setting.Whole("webhook-max-flows", "10000", "number of OpenFlow flows on a node above which a NetworkPolicy causes a warning; 0 disables the check",
			&c.Webhook.MaxFlows),
	)
}

// webhookServing lists the settings of the server.
func (c *Config) webhookServing() []setting.Setting {
	namespaced := func(key, usage string, value *string) setting.Setting {
		return setting.Matching(key, "", usage, "NAMESPACE/NAME", `^([a-z0-9][a-z0-9.-]*/[a-z0-9][a-z0-9.-]*)?$`, value)
	}
	return []setting.Setting{
		setting.Listen("webhook-listen", "", "address for admission reviews, over TLS; empty disables them",
			&c.Webhook.Listen),
		setting.Interval("webhook-shutdown-delay", "5s", 0, "how long to answer admission reviews after SIGTERM",
			&c.Webhook.ShutdownDelay),
		setting.Text("webhook-tls-cert", "", "certificate file for admission reviews, with webhook-tls-key; read again when it changes",
			&c.Webhook.TLSCert),
		setting.Text("webhook-tls-key", "", "private key file of webhook-tls-cert",
			&c.Webhook.TLSKey),
		namespaced("webhook-tls-secret", "name of the Secret in which to store a self-made certificate, instead of files",
			&c.Webhook.TLSSecret),
		namespaced("webhook-tls-service", "name of the Service that the API server calls, with webhook-tls-secret",
			&c.Webhook.TLSService),
		setting.Names("webhook-tls-name", "", "additional DNS names that the API server calls, with webhook-tls-secret",
			&c.Webhook.TLSNames),
		setting.Names("webhook-configuration", "netloom-webhook", "names of ValidatingWebhookConfigurations to write the CA certificate to, with webhook-tls-secret",
			&c.Webhook.Configurations),
		setting.Names("webhook-mutating-configuration", "", "names of MutatingWebhookConfigurations to write the CA certificate to, with webhook-tls-secret; needed to add the readiness gate to pods",
			&c.Webhook.Mutating),
	}
}

// aloneFlags are the flags of `netloom webhook` whose names differ from their settings.
var aloneFlags = map[string]string{
	"kubeconfig": "kubeconfig", "kube-context": "context", "listen": "health-listen", "log-level": "log-level", "log-format": "log-format",
	"readiness-gate": "readiness-gate",
}

// webhookAlone lists the settings of `netloom webhook`, with its flags.
func (c *Config) webhookAlone() []setting.Setting {
	var all []setting.Setting
	for _, s := range c.settings(nil) {
		name, ok := aloneFlags[s.Key]
		if short, is := strings.CutPrefix(s.Key, webhookPrefix); is {
			name, ok = short, true
		}
		switch {
		case !ok:
			continue
		case s.Key == "webhook-listen":
			s = setting.Address(s.Key, ":9443", "address for admission reviews, over TLS", &c.Webhook.Listen)
		case s.Key == "listen":
			s.Usage = "address for health and metrics; empty disables it"
		case s.Key == "readiness-gate":
			s.Usage = "readiness gate that pods get at /add-readiness-gate"
		case s.Key == "kubeconfig":
			s.Usage = "kubeconfig file of the cluster; default: the cluster that the webhook runs in"
		}
		s.Name = name
		s.Usage = strings.NewReplacer("with "+webhookPrefix, "with --", "key file of "+webhookPrefix, "key file of --").Replace(s.Usage)
		all = append(all, s)
	}
	return all
}

// WebhookSettings lists the settings of `netloom webhook`. Flag is their name there.
func WebhookSettings() []setting.Setting { return new(Config).webhookAlone() }

// BindWebhook adds the settings of `netloom webhook` to flags, and --config.
func BindWebhook(flags *pflag.FlagSet) { bind(flags, WebhookSettings()) }

// LoadWebhook is Load for `netloom webhook`. It reads the same variables and files, and ignores settings that it does not
// have, including those of backends.
func LoadWebhook(
	flags *pflag.FlagSet, env func(string) (string, bool), readFile func(string) ([]byte, error), backends ...setting.Group,
) (*Config, error) {
	c := &Config{}
	err := c.load(c.webhookAlone(), known(backends), flags, env, readFile, func(bad map[string]bool) []error {
		return slices.Concat(c.kubeContradictions(bad), c.webhookContradictions(bad))
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// webhookContradictions finds settings of the webhook that are not valid together.
func (c *Config) webhookContradictions(bad map[string]bool) []error {
	w := &c.Webhook
	if w.Listen == "" {
		return nil
	}
	for _, s := range c.webhookServing() {
		if bad[s.Key] {
			return nil
		}
	}
	var faults []error
	fault := func(key, reason string) { faults = append(faults, &Fault{key, c.origins[key], reason}) }
	files, own := w.TLSCert != "" || w.TLSKey != "", w.TLSSecret != "" || w.TLSService != ""
	switch {
	case files == own:
		fault("webhook-listen", "needs either webhook-tls-cert and webhook-tls-key, or webhook-tls-secret and webhook-tls-service")
	case files && w.TLSKey == "":
		fault("webhook-tls-cert", "needs webhook-tls-key")
	case files && w.TLSCert == "":
		fault("webhook-tls-key", "needs webhook-tls-cert")
	case own && w.TLSService == "":
		fault("webhook-tls-secret", "needs webhook-tls-service")
	case own && w.TLSSecret == "":
		fault("webhook-tls-service", "needs webhook-tls-secret")
	}
	if c.Manifests != "" {
		fault("webhook-listen", fmt.Sprintf("cannot be combined with manifests (%s): reviews come from a Kubernetes API", c.origins["manifests"]))
	}
	return faults
}
