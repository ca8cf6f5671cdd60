package config

import (
	"time"

	"github.com/netloom/netloom/pkg/config/setting"
)

// SDWAN configures SD-WAN resources.
type SDWAN struct {
	Enabled         bool
	Interval        time.Duration
	StatusInterval  time.Duration // zero collects nothing
	StatusNamespace string
	PlainHTTP       bool
	Events          bool
	ClusterWide     bool
	ServiceRules    ServiceRules
	ServicePurpose  string // "" means none
}

// ServiceRules selects the Services that the CNFs offer.
type ServiceRules string

// The choices of Services.
const (
	ServiceRulesOff      ServiceRules = "off"
	ServiceRulesLabelled ServiceRules = "labelled"
	ServiceRulesAll      ServiceRules = "all"
)

func (c *Config) sdwanSettings() []setting.Setting {
	return []setting.Setting{
		setting.Bool("sdewan", "false", "configure CNFs, pods that run OpenWRT, from SD-WAN resources; ovn-nb is then optional",
			&c.SDWAN.Enabled),
		setting.Interval("sdewan-interval", "30s", 1, "time between two read-backs of the configuration of a CNF",
			&c.SDWAN.Interval),
		setting.Interval("sdewan-status-interval", "30s", 0, "time between two reports of CNFs, for CNFStatus objects and metrics; 0 disables reports",
			&c.SDWAN.StatusInterval),
		setting.Matching("sdewan-status-namespace", "sdewan-system", "namespace whose CNFStatus objects show the CNFs of all namespaces; one is created if there is none",
			"up to 63 characters of a-z, 0-9 and dash, with no dash at either end", `^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`,
			&c.SDWAN.StatusNamespace),
		setting.Bool("sdewan-plain-http", "false", "use unencrypted HTTP for CNFs whose pods name no Secret with a certificate; if false, such CNFs are not configured",
			&c.SDWAN.PlainHTTP),
		setting.Bool("sdewan-events", "true", "create Events for SD-WAN resources",
			&c.SDWAN.Events),
		setting.Bool("sdewan-cluster-wide", "false", "apply SD-WAN resources to the CNFs with their purpose in every namespace, not only in their own",
			&c.SDWAN.ClusterWide),
		setting.Choice("sdewan-service-rules", string(ServiceRulesOff), "which Services CNFs offer, on the same ports: none, those with the label sdewanPurpose, or all",
			[]ServiceRules{ServiceRulesOff, ServiceRulesLabelled, ServiceRulesAll}, &c.SDWAN.ServiceRules),
		setting.Matching("sdewan-service-purpose", "", "purpose of the CNFs that offer Services without the label, with sdewan-service-rules all",
			"a label value", `^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$`,
			&c.SDWAN.ServicePurpose),
	}
}
