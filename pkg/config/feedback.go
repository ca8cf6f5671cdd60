package config

// Feedback says what people are told of NetworkPolicies and Services.
type Feedback struct {
	PolicyStatus bool
	Events       bool
}

func feedbackSettings() []Setting {
	return []Setting{
		flag("policy-status", "false", "write a PolicyStatus for each NetworkPolicy that shows whether it is enforced, and at which generation; requires its CRD and permission to write it",
			func(c *Config) *bool { return &c.Feedback.PolicyStatus }),
		flag("policy-events", "false", "create Events for NetworkPolicies and Services",
			func(c *Config) *bool { return &c.Feedback.Events }),
	}
}

// feedbackContradictions looks for feedback that has nowhere to go.
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
