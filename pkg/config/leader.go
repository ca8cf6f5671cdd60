package config

import (
	"fmt"
	"time"
)

// retryJitter is how much longer than asked for client-go waits between two attempts, at the most.
const retryJitter = 1.2

// Leader says how one of several instances is chosen to write.
type Leader struct {
	Elect         bool
	Namespace     string // "" is that of the pod
	Name          string // "" is the owner's
	LeaseDuration time.Duration
	RenewDeadline time.Duration
	RetryPeriod   time.Duration
}

func leaderSettings() []Setting {
	return []Setting{
		flag("leader-elect", "false", "write only while this instance holds a Lease of the Kubernetes API, and stand by otherwise; for several replicas",
			func(c *Config) *bool { return &c.Leader.Elect }),
		matching("leader-elect-namespace", "", "namespace of the Lease, that of the pod unless given",
			"up to 63 of a-z, 0-9 and, inside, dash, or nothing", `^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$`,
			func(c *Config) *string { return &c.Leader.Namespace }),
		matching("leader-elect-name", "", "name of the Lease, that of the owner and -leader unless given",
			"up to 63 of a-z, 0-9, dash and dot, or nothing", `^([a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?)?$`,
			func(c *Config) *string { return &c.Leader.Name }),
		wholeSeconds("leader-elect-lease-duration", "15s", "for how long the Lease is good that its holder does not renew; then a standby takes over",
			func(c *Config) *duration { return &c.Leader.LeaseDuration }),
		interval("leader-elect-renew-deadline", "10s", 1, "for how long a leader goes on writing that cannot renew the Lease; less than its duration",
			func(c *Config) *duration { return &c.Leader.RenewDeadline }),
		interval("leader-elect-retry-period", "2s", 1, "time between two attempts to get or to renew the Lease",
			func(c *Config) *duration { return &c.Leader.RetryPeriod }),
	}
}

// leaderContradictions looks for settings of the election that are good alone and not together.
func (c *Config) leaderContradictions(bad map[string]bool, fault func(key, reason string)) {
	l := &c.Leader
	if !l.Elect || bad["leader-elect"] {
		return
	}
	if c.Manifests != "" {
		fault("leader-elect", "cannot be given together with manifests ("+c.origins["manifests"].String()+"): the Lease is held by a Kubernetes API")
	}
	if !bad["leader-elect-lease-duration"] && l.RenewDeadline >= l.LeaseDuration {
		fault("leader-elect-renew-deadline", fmt.Sprintf("%s is not less than leader-elect-lease-duration (%s), %s",
			l.RenewDeadline, c.origins["leader-elect-lease-duration"], l.LeaseDuration))
	}
	if !bad["leader-elect-renew-deadline"] && time.Duration(retryJitter*float64(l.RetryPeriod)) >= l.RenewDeadline {
		fault("leader-elect-retry-period", fmt.Sprintf("%s and a fifth is not less than leader-elect-renew-deadline (%s), %s",
			l.RetryPeriod, c.origins["leader-elect-renew-deadline"], l.RenewDeadline))
	}
}

// wholeSeconds is a setting that takes what can be written into a Lease.
func wholeSeconds(key, def, usage string, field func(*Config) *duration) Setting {
	s := interval(key, def, time.Second, usage, field)
	s.Expect = "whole seconds, such as 15s or 1m, more than 0"
	parse := s.parse
	s.parse = func(c *Config, v string) bool { return parse(c, v) && *field(c)%time.Second == 0 }
	return s
}
