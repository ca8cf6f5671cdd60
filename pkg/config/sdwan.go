package config

import "time"

// SDWAN says what is made of SD-WAN resources.
type SDWAN struct {
	Enabled         bool
	Interval        time.Duration
	StatusInterval  time.Duration // zero collects nothing
	StatusNamespace string
	PlainHTTP       bool
	Events          bool
	ClusterWide     bool
	ServiceRules    ServiceRules
	ServicePurpose  string // "" is none
}

// ServiceRules says which Services the network functions offer.
type ServiceRules string

// The choices of Services.
const (
	ServiceRulesOff      ServiceRules = "off"
	ServiceRulesLabelled ServiceRules = "labelled"
	ServiceRulesAll      ServiceRules = "all"
)

func sdwanSettings() []Setting {
	return []Setting{
		flag("sdewan", "false", "configure OpenWRT network functions as SD-WAN resources say; ovn-nb may be left out then",
			func(c *Config) *bool { return &c.SDWAN.Enabled }),
		interval("sdewan-interval", "30s", 1, "time between two read-backs of all that a network function holds",
			func(c *Config) *duration { return &c.SDWAN.Interval }),
		interval("sdewan-status-interval", "30s", 0, "time between two collections of what network functions report of themselves, for CNFStatus objects and metrics; 0 collects nothing",
			func(c *Config) *duration { return &c.SDWAN.StatusInterval }),
		matching("sdewan-status-namespace", "sdewan-system", "namespace whose CNFStatus objects show the network functions of all namespaces; one is made there if there is none",
			"up to 63 of a-z, 0-9 and, inside, dash", `^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`,
			func(c *Config) *string { return &c.SDWAN.StatusNamespace }),
		flag("sdewan-plain-http", "false", "talk HTTP, which anybody on the way can read, to network functions whose pods name no Secret with a certificate; false leaves them alone",
			func(c *Config) *bool { return &c.SDWAN.PlainHTTP }),
		flag("sdewan-events", "true", "make Events of what becomes of SD-WAN resources",
			func(c *Config) *bool { return &c.SDWAN.Events }),
		flag("sdewan-cluster-wide", "false", "apply SD-WAN resources to the network functions of their purpose in every namespace, not only in their own",
			func(c *Config) *bool { return &c.SDWAN.ClusterWide }),
		choice("sdewan-service-rules", string(ServiceRulesOff), "which Services can be reached at the network functions, under their own ports: none, those with the label sdewanPurpose, or all",
			[]ServiceRules{ServiceRulesOff, ServiceRulesLabelled, ServiceRulesAll}, func(c *Config) *ServiceRules { return &c.SDWAN.ServiceRules }),
		matching("sdewan-service-purpose", "", "purpose of the network functions that offer Services without the label, where all are offered",
			"the value of a label", `^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$`,
			func(c *Config) *string { return &c.SDWAN.ServicePurpose }),
	}
}
