package config

import "github.com/netloom/netloom/pkg/config/setting"

// Feedback is what netloom reports about NetworkPolicies and Services.
type Feedback struct {
	PolicyStatus bool
	Events       bool
}

func (c *Config) feedbackSettings() []setting.Setting {
	return []setting.Setting{
		setting.Bool("policy-status", "false", "write a PolicyStatus for each NetworkPolicy, and conditions of each cluster-wide policy, that show whether it is enforced, and at which generation; requires the CRD and permission to write them",
			&c.Feedback.PolicyStatus),
		setting.Bool("policy-events", "false", "create Events for NetworkPolicies, cluster-wide policies and Services",
			&c.Feedback.Events),
	}
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
}
