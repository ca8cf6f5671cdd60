package config

import (
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/config/setting"
	"github.com/netloom/netloom/pkg/intent"
)

// LogFormat is how log lines are written.
type LogFormat string

// The formats of log lines. LogAuto is text on a terminal and JSON elsewhere.
const (
	LogAuto LogFormat = "auto"
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// EndpointsAPI is the kind of object from which the endpoints of services are read.
type EndpointsAPI string

// The kinds to read endpoints from: EndpointSlice, Endpoints, or whichever is available. See source.EndpointsAPI.
const (
	EndpointsAuto    EndpointsAPI = "auto"
	EndpointsSlices  EndpointsAPI = "slices"
	EndpointsClassic EndpointsAPI = "endpoints"
)

// Config has the values of all settings, validated. Load makes it.
type Config struct {
	Manifests string // directory; "" reads from Kubernetes
	// MaxManifestSize is the limit on a file of Manifests, in bytes.
	MaxManifestSize int64
	// BudgetMemory is the memory for which the budgets of namespaces are sized, in bytes; 0 is the memory limit of the process.
	BudgetMemory int64

	// UpstreamCluster is a directory that describes the API servers to use in place of a kubeconfig; "" is none.
	UpstreamCluster string
	Kubeconfig      string // "" is the cluster that the process runs in
	KubeContext     string // "" is the file's current context
	Services        bool   // whether services are read, with their endpoints
	EndpointsAPI    EndpointsAPI
	Cluster         string // "" means the only one
	Owner           string
	Others          Others
	ZoneNode        string // whose pods are subjects; "" means every node

	Families intent.Families // zero uses those of the pods

	MinInterval       time.Duration
	ConfirmInterval   time.Duration
	DriftInterval     time.Duration // zero never checks
	RetryMin          time.Duration
	RetryMax          time.Duration
	MaxDeleteFraction float64
	Force             bool

	SDWAN    SDWAN
	Feedback Feedback
	Leader   Leader
	Webhook  Webhook
	Gateway  Gateway

	Listen      string // "" disables it
	DebugListen string // "" disables it; Listen then serves debugging to clients with a token
	UIListen    string // "" disables the web UI
	ACLLogs     []string
	Pprof       bool
	Serving     Serving
	LogLevel    logrus.Level
	LogFormat   LogFormat

	all     []setting.Setting // that were read
	origins map[string]Origin // by key
	// warnings are about deprecated names and settings.
	warnings []string
}

// Origin is where the value of a setting came from. The zero value is the default.
type Origin struct {
	Kind OriginKind
	Name string // the file, the variable or the flag
}

// OriginKind is a kind of place for settings, in order of precedence, the lowest first.
type OriginKind uint8

// The places, in order of precedence, the lowest first.
const (
	FromDefault OriginKind = iota
	FromFile
	FromEnv
	FromFlag
)

// String describes the place for messages.
func (o Origin) String() string {
	switch o.Kind {
	case FromFile:
		return "file " + o.Name
	case FromEnv:
		return "environment " + o.Name
	case FromFlag:
		return "flag " + o.Name
	case FromDefault:
		return "default"
	default:
		return "unknown"
	}
}

// Origin returns where the value of the setting with that key came from.
func (c *Config) Origin(key string) Origin { return c.origins[key] }
