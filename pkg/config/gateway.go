package config

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/netloom/netloom/pkg/config/setting"
)

// Gateway configures `netloom gateway`. No other command uses it.
type Gateway struct {
	Clusters        string // directory; "" watches a host cluster
	FromKubeconfig  string // file whose contexts are served to its owner, in place of UpstreamClusters; "" is none
	WriteKubeconfig string // file for the owner's kubeconfig; "" prints it
	Listen          string
	TLSCert, TLSKey string // files; "" serves only clusters with a certificate of their own
	Credentials     string // kubeconfig file of users that UpstreamClusters may refer to; "" is none
	Namespace       string // of Secrets and Leases in the host cluster; "" is that of the pod
	StrictNames     bool
	TokenAudiences  []string // none accepts those of the API servers
	FrontProxyCA    string   // file; "" trusts no proxy
	FrontProxyNames []string // none accepts any name
	SharedWatches   bool
	ReviewInterval  time.Duration
	AccessLog       bool
	MaxClusters     int    // 0 is the default for the memory
	AuditLog        string // file; "-" is standard output, "" is none
	ShutdownDelay   time.Duration
	ShutdownSpread  time.Duration
	ShutdownGrace   time.Duration
}

// gatewayPrefix is the prefix of the gateway's settings. The flags of `netloom gateway` do not have it.
const gatewayPrefix = "gateway-"

func (c *Config) gatewaySettings() []setting.Setting {
	g := &c.Gateway
	return []setting.Setting{
		setting.Text("gateway-clusters", "", "directory with UpstreamClusters in YAML or JSON; default: watch those of a host cluster",
			&g.Clusters),
		setting.Text("gateway-from-kubeconfig", "", "kubeconfig file whose contexts to serve, as their users, to the holder of a kubeconfig that is made at the start; see docs/gateway.md",
			&g.FromKubeconfig),
		setting.Text("gateway-write-kubeconfig", "", "file to write that kubeconfig to, with mode 0600; default: print it",
			&g.WriteKubeconfig),
		setting.Address("gateway-listen", ":6443", "address to serve clusters on, over TLS",
			&g.Listen),
		setting.Text("gateway-tls-cert", "", "certificate file for clusters without a certificate of their own, with gateway-tls-key; read again when it changes",
			&g.TLSCert),
		setting.Text("gateway-tls-key", "", "private key file of gateway-tls-cert",
			&g.TLSKey),
		setting.Text("gateway-credentials", "", "kubeconfig file whose users UpstreamClusters may refer to; read again when it changes, and its exec plugins are run",
			&g.Credentials),
		setting.Matching("gateway-namespace", "", "namespace of the host cluster with the Secrets that UpstreamClusters may refer to, and the Leases of the gateway's instances; default: the namespace of the pod",
			"up to 63 characters of a-z, 0-9 and dash, with no dash at either end, or nothing", `^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$`,
			&g.Namespace),
		setting.Bool("gateway-strict-names", "false", "reject requests whose host name selects another cluster than the TLS server name",
			&g.StrictNames),
		setting.Names("gateway-token-audiences", "", "audiences of tokens; default: those of each cluster's API servers",
			&g.TokenAudiences),
		setting.Text("gateway-front-proxy-ca", "", "file with the CA certificates of proxies whose X-Remote-User, X-Remote-Uid, X-Remote-Group and X-Remote-Extra- headers are trusted",
			&g.FrontProxyCA),
		setting.Names("gateway-front-proxy-names", "", "common names in the certificates of such proxies; default: any name",
			&g.FrontProxyNames),
		setting.Bool("gateway-shared-watches", "false", "serve lists and watches of common kinds from one watch for all clients; the gateway must be allowed to list and watch them",
			&g.SharedWatches),
		setting.Interval("gateway-review-interval", "4m", time.Second, "time after which a cluster is asked again whether a shared watch is allowed, or up to a quarter more; "+
			"valid tokens and permissions are cached for a quarter of it, at most a minute",
			&g.ReviewInterval),
		setting.Whole("gateway-max-clusters", "0", "number of clusters to serve at once, the oldest; 0: one for each 4 MiB of the memory limit, 64 to 4096",
			&g.MaxClusters),
		setting.Bool("gateway-access-log", "true", "log the requests for which an UpstreamCluster enables the access log",
			&g.AccessLog),
		setting.Text("gateway-audit-log", "", "file for an audit event about each request, in the format of Kubernetes; - is standard output",
			&g.AuditLog),
		setting.Interval("gateway-shutdown-delay", "5s", 0, "time between SIGTERM, after which /readyz fails, and the end of the listener",
			&g.ShutdownDelay),
		setting.Interval("gateway-shutdown-spread", "15s", 0, "time over which watches end, each at a random moment",
			&g.ShutdownSpread),
		setting.Interval("gateway-shutdown-grace", "5s", 0, "additional time for all other requests to finish",
			&g.ShutdownGrace),
	}
}

// gatewayShared are the flags of `netloom gateway` for settings that other commands have, too.
var gatewayShared = map[string]string{
	"kubeconfig": "kubeconfig", "kube-context": "context", "listen": "metrics-listen", "log-level": "log-level", "log-format": "log-format",
}

// gatewayAlone lists the settings of `netloom gateway`, with its flags.
func (c *Config) gatewayAlone() []setting.Setting {
	all := c.gatewaySettings()
	for i := range all {
		all[i].Name = strings.TrimPrefix(all[i].Key, gatewayPrefix)
		all[i].Usage = strings.NewReplacer("with "+gatewayPrefix, "with --", "file of "+gatewayPrefix, "file of --").Replace(all[i].Usage)
	}
	for _, s := range c.settings(nil) {
		name, ok := gatewayShared[s.Key]
		switch {
		case !ok:
			continue
		case s.Key == "listen":
			s.Usage = "address for /healthz, /readyz and /metrics, without TLS; empty disables it"
		case s.Key == "kubeconfig":
			s.Usage = "kubeconfig file of the host cluster; default: the cluster that the gateway runs in"
		}
		s.Name = name
		all = append(all, s)
	}
	return all
}

// GatewaySettings lists the settings of `netloom gateway`. Flag is their name there.
func GatewaySettings() []setting.Setting { return new(Config).gatewayAlone() }

// BindGateway adds the settings of `netloom gateway` to flags, and --config.
func BindGateway(flags *pflag.FlagSet) { bind(flags, GatewaySettings()) }

// LoadGateway is Load for `netloom gateway`. It reads the same variables and files, and ignores settings that it does not
// have, including those of backends.
func LoadGateway(
	flags *pflag.FlagSet, env func(string) (string, bool), readFile func(string) ([]byte, error), backends ...setting.Group,
) (*Config, error) {
	c := &Config{}
	err := c.load(c.gatewayAlone(), known(backends), flags, env, readFile, c.gatewayContradictions)
	if err != nil {
		return nil, err
	}
	c.runLocally()
	return c, nil
}

// runLocally changes the defaults of a gateway that somebody runs for themselves: nothing but this machine reaches it, and it stops at
// once.
func (c *Config) runLocally() {
	g := &c.Gateway
	if g.FromKubeconfig == "" {
		return
	}
	unset := func(key string) bool { return c.origins[key].Kind == FromDefault }
	if unset("gateway-listen") {
		g.Listen = "127.0.0.1:6443"
	}
	if unset("listen") {
		c.Listen = ""
	}
	if unset("gateway-shutdown-delay") {
		g.ShutdownDelay = 0
	}
	if unset("gateway-shutdown-spread") {
		g.ShutdownSpread = 0
	}
}

// notLocal are the settings that say who the clients of a gateway are, and where its clusters come from: with gateway-from-kubeconfig,
// its owner is the only client.
func notLocal() []string {
	return []string{
		"gateway-clusters", "kubeconfig", "kube-context", "gateway-tls-cert", "gateway-tls-key", "gateway-token-audiences", "gateway-front-proxy-ca",
		"gateway-credentials", "gateway-namespace",
		"gateway-front-proxy-names", "gateway-shared-watches",
	}
}

// gatewayContradictions finds settings of the gateway that are not valid together.
func (c *Config) gatewayContradictions(bad map[string]bool) []error {
	g := &c.Gateway
	var faults []error
	fault := func(key, reason string) {
		if !bad[key] {
			faults = append(faults, &Fault{key, c.origins[key], reason})
		}
	}
	switch {
	case g.TLSCert != "" && g.TLSKey == "":
		fault("gateway-tls-cert", "needs gateway-tls-key")
	case g.TLSCert == "" && g.TLSKey != "":
		fault("gateway-tls-key", "needs gateway-tls-cert")
	}
	if len(g.FrontProxyNames) > 0 && g.FrontProxyCA == "" {
		fault("gateway-front-proxy-names", "needs gateway-front-proxy-ca")
	}
	for _, key := range []string{"kubeconfig", "kube-context", "gateway-namespace"} {
		if g.Clusters != "" && c.origins[key].Kind != FromDefault {
			fault(key, "cannot be combined with gateway-clusters ("+c.origins["gateway-clusters"].String()+")")
		}
	}
	if g.WriteKubeconfig != "" && g.FromKubeconfig == "" {
		fault("gateway-write-kubeconfig", "needs gateway-from-kubeconfig")
	}
	for _, key := range notLocal() {
		if g.FromKubeconfig != "" && c.origins[key].Kind != FromDefault && (key != "gateway-shared-watches" || g.SharedWatches) {
			fault(key, "cannot be combined with gateway-from-kubeconfig ("+c.origins["gateway-from-kubeconfig"].String()+")")
		}
	}
	return slices.Concat(faults, c.kubeContradictions(bad))
}
