package ovn

import (
	"errors"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends/ovn/internal/lb"
	"github.com/netloom/netloom/pkg/config/setting"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// Embedded is the only element of Settings.Endpoints for a database within the process. The code that runs the database
// replaces it.
const Embedded = "embedded"

// Settings determine where the Northbound database is and how its rows are written, as configured by people. The zero
// value has no target; Group has the defaults.
type Settings struct {
	Endpoints []string // of one database, see ovsdb.Options; or only Embedded
	TLS       ovsdb.TLSFiles
	MaxReply  int64  // bytes, see ovsdb.Options
	PortNames string // see ParsePortNames
	LogRate   uint32 // see Options

	LoadBalancing LoadBalancing
}

// Embedded reports whether the database runs within the process.
func (s *Settings) Embedded() bool { return len(s.Endpoints) == 1 && s.Endpoints[0] == Embedded }

// Configured reports whether there is a database to write to.
func (s *Settings) Configured() bool { return len(s.Endpoints) > 0 }

// Group lists the settings, bound to s.
func (s *Settings) Group() setting.Group {
	return setting.Group{
		Settings: s.list(), Conflicts: s.conflicts, Configured: s.Configured,
		Required: "expected the address of the Northbound database",
	}
}

// conflicts reports what is missing to connect.
func (s *Settings) conflicts(report func(key, reason string)) {
	switch {
	case s.TLS.Cert == "" && s.TLS.Key != "":
		report("ovn-key", "needs ovn-cert")
	case s.TLS.Cert != "" && s.TLS.Key == "":
		report("ovn-cert", "needs ovn-key")
	}
	ssl := slices.ContainsFunc(s.Endpoints, func(e string) bool { return strings.HasPrefix(e, "ssl:") })
	if ssl && s.TLS.CA == "" {
		report("ovn-nb", "ssl endpoints need ovn-ca-cert")
	}
}

// lbHosts describes a selection of switches and routers.
const lbHosts = "names with or without *, external_ids:KEY=VALUE, !PATTERN, NETWORK=PATTERN, separated by commas"

func (s *Settings) list() []setting.Setting {
	return []setting.Setting{
		s.endpoints(),
		setting.Text("ovn-ca-cert", "", "file with CA certificates to verify ssl endpoints",
			&s.TLS.CA),
		setting.Text("ovn-cert", "", "client certificate file for ssl endpoints",
			&s.TLS.Cert),
		setting.Text("ovn-key", "", "private key file of ovn-cert",
			&s.TLS.Key),
		setting.Text("ovn-server-name", "", "name or IP address that the certificate of ssl endpoints must contain, even if endpoints are IP addresses; default: any",
			&s.TLS.ServerName),
		setting.Size("ovn-max-reply", "128Mi", "maximum size of a message from the database; a larger message closes the connection",
			&s.MaxReply),
		setting.Parsed("ovn-port-names", DefaultPortNames, "how to find the logical ports of pods",
			"ovn-kubernetes, kube-ovn, nodus, a template such as {namespace}_{pod}, or external-ids:KEY[=TEMPLATE]", checked(ParsePortNames),
			&s.PortNames),
		setting.Whole("ovn-meter-rate", "20", "lines per second of audit logs without a rate; 0 means no limit",
			&s.LogRate),
		setting.Parsed("ovn-lb-group", "", "name of the load balancer group for Services, and prefix of further groups; default: the owner",
			"up to 64 letters, digits, dots, dashes and underscores", checkGroup,
			&s.LoadBalancing.Group),
		setting.Parsed("ovn-lb-switches", DefaultSwitches, "logical switches to attach load balancers to", lbHosts+", or !* for none", checkSelection,
			&s.LoadBalancing.Switches),
		setting.Parsed("ovn-lb-routers", "", "logical routers to attach load balancers to", lbHosts+", or nothing", checkSelection,
			&s.LoadBalancing.Routers),
		setting.Parsed("ovn-service-networks", "", "logical networks that Services may select with the annotation netloom.io/network, in addition to the default network",
			"comma-separated names, * for all, or nothing for none", checked(lb.ParseNetworks),
			&s.LoadBalancing.Networks),
		setting.Parsed("ovn-lb-node-switch", DefaultNodeSwitch, "name of a node's own logical switch; used if the database has no template variables",
			"a name that contains {node}", checkNodeName,
			&s.LoadBalancing.NodeSwitch),
		setting.Parsed("ovn-lb-node-router", DefaultNodeRouter, "name of a node's own logical router; used if the database has no template variables",
			"a name that contains {node}", checkNodeName,
			&s.LoadBalancing.NodeRouter),
		setting.Parsed("ovn-lb-hairpin", DefaultHairpin, "source addresses for a pod that reaches itself through a Service; nothing else may use them",
			"an IPv4 and an IPv6 address separated by a space", checked(parseHairpin),
			&s.LoadBalancing.Hairpin),
		setting.Choice("ovn-lb-affinity", AffinityTimeout, "implementation of session affinity: timeout lets OVN remember the backend of a client for a time but drops the client's first packet, hash selects the backend by a hash of the client's address",
			[]string{AffinityTimeout, AffinityHash}, &s.LoadBalancing.Affinity),
	}
}

func (s *Settings) endpoints() setting.Setting {
	valid := func(e string) bool { return e == Embedded || isEndpoint(e) }
	list := setting.List("ovn-nb", "",
		"endpoints of the OVN Northbound database, every server of a cluster, or "+Embedded+" for an in-memory database",
		"unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT, separated by commas, or "+Embedded, valid, &s.Endpoints)
	set := list.Set
	list.Set = func(v string) bool {
		return v != "" && set(v) && (len(s.Endpoints) == 1 || !slices.Contains(s.Endpoints, Embedded))
	}
	return list
}

// isEndpoint reports whether v has the form of an OVSDB endpoint. Dialing checks it fully.
func isEndpoint(v string) bool {
	scheme, rest, _ := strings.Cut(v, ":")
	switch scheme {
	case "unix":
		return rest != ""
	case "tcp", "ssl":
		return !strings.HasPrefix(rest, ":") && setting.IsAddress(rest)
	default:
		return false
	}
}

// checked returns a parser that only checks.
func checked[T any](parse func(string) (T, error)) func(string) error {
	return func(v string) error {
		_, err := parse(v)
		return err
	}
}

func checkSelection(v string) error {
	if v == "" {
		return errors.New("empty")
	}
	return checked(lb.ParseSelection)(v)
}
