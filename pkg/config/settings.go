package config

import "github.com/netloom/netloom/backends/ovn"

// Settings lists every setting, in the order in which they are shown.
func Settings() []Setting {
	var all []Setting
	for _, group := range [][]Setting{sourceSettings(), ovnSettings(), loopSettings(), leaderSettings(), sdwanSettings(), feedbackSettings(), webhookSettings(), serverSettings(), servingSettings()} {
		all = append(all, group...)
	}
	return all
}

func sourceSettings() []Setting {
	return []Setting{
		text("manifests", "", "directory of manifests to read instead of a Kubernetes API",
			func(c *Config) *string { return &c.Manifests }),
		size("max-manifest-size", "64Mi", "longest manifest file that is read; a longer one is a problem, and what it gave before stays in force",
			func(c *Config) *int64 { return &c.MaxManifestSize }),
		text("kubeconfig", "", "kubeconfig file of the cluster to read; without it and manifests, the cluster that netloom runs in",
			func(c *Config) *string { return &c.Kubeconfig }),
		text("kube-context", "", "context of the kubeconfig file, the current one unless given",
			func(c *Config) *string { return &c.KubeContext }),
		flag("services", "true", "read services and their endpoints; false leaves them out and needs no right to read them",
			func(c *Config) *bool { return &c.Services }),
		choice("endpoints-api", string(EndpointsAuto), "kind of object that endpoints of services are read from, EndpointSlice or Endpoints; "+
			"auto is slices, and Endpoints where an API has none or, in a directory, for services without one",
			[]EndpointsAPI{EndpointsAuto, EndpointsSlices, EndpointsClassic}, func(c *Config) *EndpointsAPI { return &c.EndpointsAPI }),
		matching("cluster", "", "name of the cluster, part of the identity of every row; needed once several clusters share a database",
			"up to 63 of a-z, 0-9, dash and dot", `^([a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?)?$`,
			func(c *Config) *string { return &c.Cluster }),
		matching("owner", "netloom", "mark on every row that is written; instances that share a database need different ones",
			"1 to 32 of a-z, 0-9 and, inside, dash", `^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`,
			func(c *Config) *string { return &c.Owner }),
		zoneNode(),
	}
}

func ovnSettings() []Setting {
	return []Setting{
		endpoints("ovn-nb", "endpoints of the OVN Northbound database, all servers of a cluster, or "+Embedded+" for one within the process"),
		text("ovn-ca-cert", "", "file of the certificates that may sign those of ssl endpoints",
			func(c *Config) *string { return &c.OVN.CACert }),
		text("ovn-cert", "", "file of the certificate to show to ssl endpoints",
			func(c *Config) *string { return &c.OVN.Cert }),
		text("ovn-key", "", "file of the private key of ovn-cert",
			func(c *Config) *string { return &c.OVN.Key }),
		text("ovn-server-name", "", "name, or IP address, that the certificate of ssl endpoints must carry, also where endpoints are IP addresses; any unless given",
			func(c *Config) *string { return &c.OVN.ServerName }),
		size("ovn-max-reply", "128Mi", "longest message that is taken from the database; a longer one ends the connection",
			func(c *Config) *int64 { return &c.OVN.MaxReply }),
		portNames("ovn-port-names", "how the logical ports of pods are found"),
		rate("ovn-meter-rate", "20", "lines per second of audit logs that name no rate; 0 is no limit",
			func(c *Config) *uint32 { return &c.OVN.MeterRate }),
		parsed("ovn-lb-group", "", "name of the group that holds the load balancers of Services, and start of the names of further ones; the owner's unless given",
			"up to 64 letters, digits, dots, dashes and underscores", ovn.CheckGroup,
			func(c *Config) *string { return &c.OVN.LoadBalancing.Group }),
		parsed("ovn-lb-switches", ovn.DefaultSwitches, "logical switches that balance", lbHosts+", or !* for none", checkSelection,
			func(c *Config) *string { return &c.OVN.LoadBalancing.Switches }),
		parsed("ovn-lb-routers", "", "logical routers that balance", lbHosts+", or nothing", checkSelection,
			func(c *Config) *string { return &c.OVN.LoadBalancing.Routers }),
		parsed("ovn-service-networks", "", "logical networks that Services may name by the annotation netloom.io/network, besides the default one",
			"names with commas between, * for all, or nothing for none", ovn.CheckNetworks,
			func(c *Config) *string { return &c.OVN.LoadBalancing.Networks }),
		parsed("ovn-lb-node-switch", ovn.DefaultNodeSwitch, "name of a node's own logical switch; used where the database has no template variables",
			"a name with {node} in it", ovn.CheckNodeName,
			func(c *Config) *string { return &c.OVN.LoadBalancing.NodeSwitch }),
		parsed("ovn-lb-node-router", ovn.DefaultNodeRouter, "name of a node's own logical router; used where the database has no template variables",
			"a name with {node} in it", ovn.CheckNodeName,
			func(c *Config) *string { return &c.OVN.LoadBalancing.NodeRouter }),
		parsed("ovn-lb-hairpin", ovn.DefaultHairpin, "addresses that stand for a pod that reaches itself through a Service; nobody else may have them",
			"an IPv4 and an IPv6 address with a space between", checkHairpin,
			func(c *Config) *string { return &c.OVN.LoadBalancing.Hairpin }),
		choice("ovn-lb-affinity", ovn.AffinityTimeout, "how a client stays with a backend where a Service wants that: OVN remembers it for a time and drops its first packet, or goes by the hash of its address",
			[]string{ovn.AffinityTimeout, ovn.AffinityHash}, func(c *Config) *string { return &c.OVN.LoadBalancing.Affinity }),
		families("families", "address families to write rows for; auto is those that pods hold"),
	}
}

func loopSettings() []Setting {
	return []Setting{
		interval("min-interval", "0s", 0, "least time between two writes to a target; changes in between are written together",
			func(c *Config) *duration { return &c.MinInterval }),
		interval("drift-interval", "5m0s", 0, "time between two read-backs of everything that is owned, for changes by others that a target does not report; 0 never reads back while all goes well",
			func(c *Config) *duration { return &c.DriftInterval }),
		interval("retry-min", "250ms", 1, "first pause after an error; it doubles with every further one",
			func(c *Config) *duration { return &c.RetryMin }),
		interval("retry-max", "30s", 1, "longest pause after an error",
			func(c *Config) *duration { return &c.RetryMax }),
		fraction("max-delete-fraction", "0.5", "largest share of the objects of a kind that may go missing within an hour without having been deleted; beyond it they are kept in force",
			func(c *Config) *float64 { return &c.MaxDeleteFraction }),
		flag("force", "false", "remove what the target holds for objects that are missing at the start, however many; ends once the target agrees, and after five minutes",
			func(c *Config) *bool { return &c.Force }),
	}
}

func serverSettings() []Setting {
	return []Setting{
		listen("listen", ":8080", "address that health and metrics are served on, with listen-auth kubernetes debugging too; empty serves nothing",
			func(c *Config) *string { return &c.Listen }),
		listen("debug-listen", "127.0.0.1:8082", "address that debugging is served on, with health and metrics, to anybody unless listen-auth says otherwise; empty serves none",
			func(c *Config) *string { return &c.DebugListen }),
		listen("ui-listen", "", "address that the web page is served on, to anybody unless listen-auth says otherwise; empty serves none",
			func(c *Config) *string { return &c.UIListen }),
		flag("pprof", "false", "serve profiles under /debug/pprof/",
			func(c *Config) *bool { return &c.Pprof }),
		logLevel("log-level", "info", "least severe level that is logged"),
		choice("log-format", "auto", "form of log lines; auto is text on a terminal and json elsewhere",
			[]LogFormat{LogAuto, LogText, LogJSON}, func(c *Config) *LogFormat { return &c.LogFormat }),
	}
}
