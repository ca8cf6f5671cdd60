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
		size("max-manifest-size", "64Mi", "maximum size of a manifest file; a larger file is a problem, and what it declared before stays in force",
			func(c *Config) *int64 { return &c.MaxManifestSize }),
		text("kubeconfig", "", "kubeconfig file of the cluster to read; default without manifests: the cluster that netloom runs in",
			func(c *Config) *string { return &c.Kubeconfig }),
		text("kube-context", "", "context of the kubeconfig file; default: the current context",
			func(c *Config) *string { return &c.KubeContext }),
		flag("services", "true", "read Services and their endpoints; false ignores them and needs no permission to read them",
			func(c *Config) *bool { return &c.Services }),
		choice("endpoints-api", string(EndpointsAuto), "kind of object from which endpoints of Services are read, EndpointSlice or Endpoints; "+
			"auto reads slices, and Endpoints if the API has no slices or, in a directory, if a Service has none",
			[]EndpointsAPI{EndpointsAuto, EndpointsSlices, EndpointsClassic}, func(c *Config) *EndpointsAPI { return &c.EndpointsAPI }),
		matching("cluster", "", "name of the cluster, part of the identity of every row; required if several clusters share a database",
			"up to 63 characters of a-z, 0-9, dash and dot", `^([a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?)?$`,
			func(c *Config) *string { return &c.Cluster }),
		matching("owner", "netloom", "owner mark on every row; instances that share a database need different owners",
			"1 to 32 characters of a-z, 0-9 and dash, with no dash at either end", `^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`,
			func(c *Config) *string { return &c.Owner }),
		zoneNode(),
	}
}

func ovnSettings() []Setting {
	return []Setting{
		endpoints("ovn-nb", "endpoints of the OVN Northbound database, every server of a cluster, or "+Embedded+" for an in-memory database"),
		text("ovn-ca-cert", "", "file with CA certificates to verify ssl endpoints",
			func(c *Config) *string { return &c.OVN.CACert }),
		text("ovn-cert", "", "client certificate file for ssl endpoints",
			func(c *Config) *string { return &c.OVN.Cert }),
		text("ovn-key", "", "private key file of ovn-cert",
			func(c *Config) *string { return &c.OVN.Key }),
		text("ovn-server-name", "", "name or IP address that the certificate of ssl endpoints must contain, even if endpoints are IP addresses; default: any",
			func(c *Config) *string { return &c.OVN.ServerName }),
		size("ovn-max-reply", "128Mi", "maximum size of a message from the database; a larger message closes the connection",
			func(c *Config) *int64 { return &c.OVN.MaxReply }),
		portNames("ovn-port-names", "how to find the logical ports of pods"),
		rate("ovn-meter-rate", "20", "lines per second of audit logs without a rate; 0 means no limit",
			func(c *Config) *uint32 { return &c.OVN.MeterRate }),
		parsed("ovn-lb-group", "", "name of the load balancer group for Services, and prefix of further groups; default: the owner",
			"up to 64 letters, digits, dots, dashes and underscores", ovn.CheckGroup,
			func(c *Config) *string { return &c.OVN.LoadBalancing.Group }),
		parsed("ovn-lb-switches", ovn.DefaultSwitches, "logical switches to attach load balancers to", lbHosts+", or !* for none", checkSelection,
			func(c *Config) *string { return &c.OVN.LoadBalancing.Switches }),
		parsed("ovn-lb-routers", "", "logical routers to attach load balancers to", lbHosts+", or nothing", checkSelection,
			func(c *Config) *string { return &c.OVN.LoadBalancing.Routers }),
		parsed("ovn-service-networks", "", "logical networks that Services may select with the annotation netloom.io/network, in addition to the default network",
			"comma-separated names, * for all, or nothing for none", ovn.CheckNetworks,
			func(c *Config) *string { return &c.OVN.LoadBalancing.Networks }),
		parsed("ovn-lb-node-switch", ovn.DefaultNodeSwitch, "name of a node's own logical switch; used if the database has no template variables",
			"a name that contains {node}", ovn.CheckNodeName,
			func(c *Config) *string { return &c.OVN.LoadBalancing.NodeSwitch }),
		parsed("ovn-lb-node-router", ovn.DefaultNodeRouter, "name of a node's own logical router; used if the database has no template variables",
			"a name that contains {node}", ovn.CheckNodeName,
			func(c *Config) *string { return &c.OVN.LoadBalancing.NodeRouter }),
		parsed("ovn-lb-hairpin", ovn.DefaultHairpin, "source addresses for a pod that reaches itself through a Service; nothing else may use them",
			"an IPv4 and an IPv6 address separated by a space", checkHairpin,
			func(c *Config) *string { return &c.OVN.LoadBalancing.Hairpin }),
		choice("ovn-lb-affinity", ovn.AffinityTimeout, "implementation of session affinity: timeout lets OVN remember the backend of a client for a time but drops the client's first packet, hash selects the backend by a hash of the client's address",
			[]string{ovn.AffinityTimeout, ovn.AffinityHash}, func(c *Config) *string { return &c.OVN.LoadBalancing.Affinity }),
		families("families", "address families to write rows for; auto uses those of the pods"),
	}
}

func loopSettings() []Setting {
	return []Setting{
		interval("min-interval", "0s", 0, "minimum time between two writes to a target; changes in between are written together",
			func(c *Config) *duration { return &c.MinInterval }),
		interval("drift-interval", "5m0s", 0, "time between two read-backs of all owned rows, to find changes by others that a target does not report; 0 reads back only after errors",
			func(c *Config) *duration { return &c.DriftInterval }),
		interval("retry-min", "250ms", 1, "initial backoff after an error; it doubles with every further error",
			func(c *Config) *duration { return &c.RetryMin }),
		interval("retry-max", "30s", 1, "maximum backoff after an error",
			func(c *Config) *duration { return &c.RetryMax }),
		fraction("max-delete-fraction", "0.5", "maximum share of the objects of a kind that may disappear within an hour without a deletion; if more disappear, they stay in force",
			func(c *Config) *float64 { return &c.MaxDeleteFraction }),
		flag("force", "false", "remove the rows of any number of objects that are missing at startup; ends once the target is in sync, and after five minutes",
			func(c *Config) *bool { return &c.Force }),
	}
}

func serverSettings() []Setting {
	return []Setting{
		listen("listen", ":8080", "address for health and metrics, and with listen-auth kubernetes also for debug endpoints; empty disables it",
			func(c *Config) *string { return &c.Listen }),
		listen("debug-listen", "127.0.0.1:8082", "address for debug endpoints, health and metrics, open to everyone who can reach it unless listen-auth requires tokens; empty disables it",
			func(c *Config) *string { return &c.DebugListen }),
		listen("ui-listen", "", "address for the web page, open to everyone who can reach it unless listen-auth requires tokens; empty disables it",
			func(c *Config) *string { return &c.UIListen }),
		flag("pprof", "false", "serve profiles under /debug/pprof/",
			func(c *Config) *bool { return &c.Pprof }),
		logLevel("log-level", "info", "minimum severity of log lines"),
		choice("log-format", "auto", "format of log lines; auto is text on a terminal and json otherwise",
			[]LogFormat{LogAuto, LogText, LogJSON}, func(c *Config) *LogFormat { return &c.LogFormat }),
	}
}
