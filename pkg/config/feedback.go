package config

import (
	"time"

	"github.com/netloom/netloom/pkg/config/setting"
)

// Feedback is what netloom reports about NetworkPolicies and Services.
type Feedback struct {
	PolicyStatus bool
	Events       bool
	Readiness    Readiness
}

// Readiness is how pods become ready.
type Readiness struct {
	Enabled bool
	Gate    string // the readiness gate
	Proof   ReadinessProof
	Grace   time.Duration // 0 never withdraws a condition
}

// ReadinessProof is what has to be known before a pod is ready.
type ReadinessProof string

// The proofs.
const (
	ReadinessInstalled ReadinessProof = "installed"
	ReadinessWritten   ReadinessProof = "written"
)

func (c *Config) feedbackSettings() []setting.Setting {
	return []setting.Setting{
		setting.Bool("policy-status", "false", "write a PolicyStatus for each NetworkPolicy, and conditions of each cluster-wide policy, that show whether it is enforced, and at which generation; requires the CRD and permission to write them",
			&c.Feedback.PolicyStatus),
		setting.Bool("policy-events", "false", "create Events for NetworkPolicies, cluster-wide policies and Services",
			&c.Feedback.Events),
		setting.Bool("readiness", "false", "set the condition of the readiness gate of pods once the policies that select them are in force; requires permission to patch the status of pods",
			&c.Feedback.Readiness.Enabled),
		c.readinessGate(),
		setting.Choice("readiness-proof", "installed", "what makes a pod ready: its rows are written, or every chassis of its database has installed them; targets that do not report that count as written",
			[]ReadinessProof{ReadinessInstalled, ReadinessWritten}, &c.Feedback.Readiness.Proof),
		setting.Interval("readiness-grace", "2m0s", 0, "how long a pod has to be known to be unprotected before it is unready again, at most max-delete-fraction of the pods at once, and how long a new pod waits until the reason is in its status; 0 does neither",
			&c.Feedback.Readiness.Grace),
	}
}

// readinessGate is the setting that daemon and webhook share.
func (c *Config) readinessGate() setting.Setting {
	return setting.Matching("readiness-gate", "netloom.io/network-policy", "readiness gate of pods that netloom looks after",
		"a label name with a prefix", `^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`, &c.Feedback.Readiness.Gate)
}

// feedbackContradictions finds feedback that has no destination.
func (c *Config) feedbackContradictions(bad map[string]bool, fault func(key, reason string)) {
	if c.Manifests == "" || bad["manifests"] {
		return
	}
	reason := "cannot be combined with manifests (" + c.origins["manifests"].String() + "): expected a Kubernetes API to write to"
	if c.Feedback.PolicyStatus {
		fault("policy-status", reason)
	}
	if c.Feedback.Events {
		fault("policy-events", reason)
	}
	if c.Feedback.Readiness.Enabled {
		fault("readiness", reason)
	}
}
