package config

import (
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/config/setting"
	"github.com/netloom/netloom/pkg/intent"
)

// Settings lists every setting, including those of backends, in the order for display.
func Settings(backends ...setting.Group) []setting.Setting { return new(Config).settings(backends) }

// known lists every setting that a file may have, including those of commands with settings of their own.
func known(backends []setting.Group) []setting.Setting {
	return slices.Concat(Settings(backends...), new(Config).gatewaySettings())
}

// settings lists the settings bound to the fields of c.
func (c *Config) settings(backends []setting.Group) []setting.Setting {
	all := c.sourceSettings()
	for _, group := range backends {
		all = append(all, group.Settings...)
	}
	return slices.Concat(all, c.peerSettings(), c.loopSettings(), c.leaderSettings(), c.sdwanSettings(), c.feedbackSettings(), c.webhookSettings(),
		c.serverSettings(), c.servingSettings())
}

func (c *Config) sourceSettings() []setting.Setting {
	return []setting.Setting{
		setting.Text("manifests", "", "directory of manifests to read instead of a Kubernetes API",
			&c.Manifests),
		setting.Size("max-manifest-size", "64Mi", "maximum size of a manifest file; a larger file is a problem, and what it declared before stays in force",
			&c.MaxManifestSize),
		setting.Text("kubeconfig", "", "kubeconfig file of the cluster to read; default without manifests: the cluster that netloom runs in",
			&c.Kubeconfig),
		setting.Text("kube-context", "", "context of the kubeconfig file; default: the current context",
			&c.KubeContext),
		setting.Text("upstream-cluster", "", "directory with one UpstreamCluster in a file, to use in place of a kubeconfig: its API servers in turn, its credentials and its limits; see docs/gateway.md",
			&c.UpstreamCluster),
		setting.Bool("services", "true", "read Services and their endpoints; if false, they are ignored and need no permission",
			&c.Services),
		setting.Choice("endpoints-api", string(EndpointsAuto), "kind of object from which endpoints of Services are read, EndpointSlice or Endpoints; "+
			"auto reads slices, and Endpoints if the API has no slices or, in a directory, if a Service has none",
			[]EndpointsAPI{EndpointsAuto, EndpointsSlices, EndpointsClassic}, &c.EndpointsAPI),
		setting.Matching("cluster", "", "name of the cluster, part of the identity of every row; required if several clusters share a database",
			"up to 63 characters of a-z, 0-9, dash and dot", `^(`+clusterName+`)?$`,
			&c.Cluster),
		setting.Matching("owner", "netloom", "owner mark on every row; instances that share a database need different owners",
			"1 to 32 characters of a-z, 0-9 and dash, with no dash at either end", `^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`,
			&c.Owner),
		c.zoneNode(),
	}
}

func (c *Config) loopSettings() []setting.Setting {
	return []setting.Setting{
		c.families(),
		setting.Interval("min-interval", "0s", 0, "minimum time between two writes to a target; changes in between are written together",
			&c.MinInterval),
		setting.Interval("drift-interval", "5m0s", 0, "time between two read-backs of all owned rows, to find changes by others that a target does not report; 0 reads back only after errors",
			&c.DriftInterval),
		setting.Interval("confirm-interval", "1m0s", time.Second, "time between two comparisons of the objects of a kind with those of the API server; a kind that was not confirmed for three intervals is reported",
			&c.ConfirmInterval),
		setting.Interval("retry-min", "250ms", 1, "initial backoff after an error; it doubles with every further error",
			&c.RetryMin),
		setting.Interval("retry-max", "30s", 1, "maximum backoff after an error",
			&c.RetryMax),
		setting.Fraction("max-delete-fraction", "0.5", "maximum share of the objects of a kind that may disappear within an hour without a deletion; if more disappear, they stay in force",
			&c.MaxDeleteFraction),
		setting.Size("budget-memory", "", "memory for which the budgets of namespaces are sized; default: the memory limit of the process, or 4Gi without one; see docs/security.md",
			&c.BudgetMemory),
		setting.Bool("force", "false", "remove the rows of all objects that are missing at startup, however many; ends once the target is in sync, or after five minutes",
			&c.Force),
	}
}

func (c *Config) serverSettings() []setting.Setting {
	return []setting.Setting{
		setting.Listen("listen", ":8080", "address for health and metrics, and with listen-auth kubernetes also for debug endpoints; empty disables it",
			&c.Listen),
		setting.Listen("debug-listen", "127.0.0.1:8082", "address for debug endpoints, health and metrics, open to everyone who can reach it unless listen-auth requires tokens; empty disables it",
			&c.DebugListen),
		setting.Listen("ui-listen", "", "address for the web page, open to everyone who can reach it unless listen-auth requires tokens; empty disables it",
			&c.UIListen),
		setting.List("acl-log", "", "log files or named pipes of ovn-controller, whose ACL lines the web page shows as denied and allowed connections; needs ui-listen", "paths, separated by commas, or nothing",
			func(path string) bool { return path != "" }, &c.ACLLogs),
		setting.Bool("pprof", "false", "serve profiles under /debug/pprof/",
			&c.Pprof),
		c.logLevel(),
		setting.Choice("log-format", "auto", "format of log lines; auto is text on a terminal and json otherwise",
			[]LogFormat{LogAuto, LogText, LogJSON}, &c.LogFormat),
	}
}

func (c *Config) families() setting.Setting {
	names := []string{"auto", "ipv4", "ipv6", "dual"} // in the order of intent.Families
	return setting.Setting{
		Key: "families", Default: names[0], Usage: "address families to write rows for; auto uses those of the pods", Choices: names,
		Set: func(v string) bool {
			i := slices.Index(names, v)
			c.Families = intent.Families(max(i, 0)) //nolint:gosec // an index of four names
			return i >= 0
		},
		Show: func() any { return names[int(c.Families)%len(names)] },
	}
}

func (c *Config) logLevel() setting.Setting {
	levels := []string{"error", "warning", "info", "debug", "trace"}
	return setting.Setting{
		Key: "log-level", Default: "info", Usage: "minimum severity of log lines", Choices: levels,
		Set: func(v string) bool {
			level, err := logrus.ParseLevel(v)
			c.LogLevel = level
			return err == nil && slices.Contains(levels, v)
		},
		Show: func() any { return c.LogLevel.String() },
	}
}
