package config

import (
	"fmt"
	"time"

	"github.com/netloom/netloom/pkg/config/setting"
)

// retryJitter is the largest factor by which client-go extends the time between two attempts.
const retryJitter = 1.2

// Leader configures leader election.
type Leader struct {
	Elect         bool
	Namespace     string // "" is that of the pod
	Name          string // "" is the owner
	LeaseDuration time.Duration
	RenewDeadline time.Duration
	RetryPeriod   time.Duration
}

func (c *Config) leaderSettings() []setting.Setting {
	return []setting.Setting{
		setting.Bool("leader-elect", "false", "elect a leader among several replicas with a Lease of the Kubernetes API; only the leader writes",
			&c.Leader.Elect),
		setting.Matching("leader-elect-namespace", "", "namespace of the Lease; default: the namespace of the pod",
			"up to 63 characters of a-z, 0-9 and dash, with no dash at either end, or nothing", `^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$`,
			&c.Leader.Namespace),
		setting.Matching("leader-elect-name", "", "name of the Lease; default: the owner with the suffix -leader",
			"up to 63 characters of a-z, 0-9, dash and dot, or nothing", `^([a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?)?$`,
			&c.Leader.Name),
		setting.WholeSeconds("leader-elect-lease-duration", "15s", "time after which a standby takes over a Lease that is not renewed",
			&c.Leader.LeaseDuration),
		setting.Interval("leader-elect-renew-deadline", "10s", 1, "time after which a leader that cannot renew the Lease stops writing; less than the lease duration",
			&c.Leader.RenewDeadline),
		setting.Interval("leader-elect-retry-period", "2s", 1, "time between two attempts to acquire or renew the Lease",
			&c.Leader.RetryPeriod),
	}
}

// leaderContradictions finds settings of leader election that are valid alone but not together.
func (c *Config) leaderContradictions(bad map[string]bool, fault func(key, reason string)) {
	l := &c.Leader
	if !l.Elect || bad["leader-elect"] {
		return
	}
	if c.Manifests != "" {
		fault("leader-elect", "cannot be combined with manifests ("+c.origins["manifests"].String()+"): the Lease requires a Kubernetes API")
	}
	if !bad["leader-elect-lease-duration"] && l.RenewDeadline >= l.LeaseDuration {
		fault("leader-elect-renew-deadline", fmt.Sprintf("%s is not less than leader-elect-lease-duration (%s), %s",
			l.RenewDeadline, c.origins["leader-elect-lease-duration"], l.LeaseDuration))
	}
	if !bad["leader-elect-renew-deadline"] && time.Duration(retryJitter*float64(l.RetryPeriod)) >= l.RenewDeadline {
		fault("leader-elect-retry-period", fmt.Sprintf("%s times 1.2 is not less than leader-elect-renew-deadline (%s), %s",
			l.RetryPeriod, c.origins["leader-elect-renew-deadline"], l.RenewDeadline))
	}
}
