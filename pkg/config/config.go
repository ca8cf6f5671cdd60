package config

import (
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/setting"
)

// LogFormat is how log lines are written.
type LogFormat string

// The formats of log lines. LogAuto is text on a terminal and JSON elsewhere.
const (
	LogAuto LogFormat = "auto"
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// EndpointsAPI is the kind of object that the endpoints of services are read from.
type EndpointsAPI string

// The kinds to read endpoints from: EndpointSlice, Endpoints, or whichever there is. See source.EndpointsAPI.
const (
	EndpointsAuto    EndpointsAPI = "auto"
	EndpointsSlices  EndpointsAPI = "slices"
	EndpointsClassic EndpointsAPI = "endpoints"
)

// Config holds every setting, valid. Load makes it.
type Config struct {
	Manifests string // directory; "" reads from Kubernetes
	// MaxManifestSize is how long a file of Manifests may be, in bytes.
	MaxManifestSize int64

	Kubeconfig   string // "" is the cluster that the process runs in
	KubeContext  string // "" is the file's current context
	Services     bool   // whether services are read, with their endpoints
	EndpointsAPI EndpointsAPI
	Cluster      string // "" is the only one
	Owner        string
	ZoneNode     string // whose pods are subjects; "" is every node

	Families intent.Families // zero takes those that pods hold

	MinInterval       time.Duration
	DriftInterval     time.Duration // zero never checks
	RetryMin          time.Duration
	RetryMax          time.Duration
	MaxDeleteFraction float64
	Force             bool

	SDWAN    SDWAN
	Feedback Feedback
	Leader   Leader
	Webhook  Webhook

	Listen      string // "" serves nothing
	DebugListen string // "" serves no debugging, but by Listen to who shows a token
	UIListen    string // "" serves no web page
	Pprof       bool
	Serving     Serving
	LogLevel    logrus.Level
	LogFormat   LogFormat

	all     []setting.Setting // that were read
	origins map[string]Origin // by key
}

// Origin says where the value of a setting came from. The zero value is the default.
type Origin struct {
	Kind OriginKind
	Name string // the file, the variable or the flag
}

// OriginKind is a place that settings come from. The order is that in which they win.
type OriginKind uint8

// The places, the weakest first.
const (
	FromDefault OriginKind = iota
	FromFile
	FromEnv
	FromFlag
)

// String tells a person where to look.
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

// Origin says where the value of the setting called key came from.
func (c *Config) Origin(key string) Origin { return c.origins[key] }
