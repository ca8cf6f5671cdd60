package config

// Feedback says what people are told of NetworkPolicies and Services.
type Feedback struct {
	PolicyStatus bool
	Events       bool
}

func feedbackSettings() []Setting {
	return []Setting{
		flag("policy-status", "false", "write a PolicyStatus beside each NetworkPolicy, which says whether it is enforced now and at which generation; needs the CRD of PolicyStatus and the rights to write it",
			func(c *Config) *bool { return &c.Feedback.PolicyStatus }),
		flag("policy-events", "false", "make Events of what becomes of NetworkPolicies and Services",
			func(c *Config) *bool { return &c.Feedback.Events }),
	}
}

// feedbackContradictions looks for feedback that has nowhere to go.
func (c *Config) feedbackContradictions(bad map[string]bool, fault func(key, reason string)) {
	if c.Manifests == "" || bad["manifests"] {
		return
	}
	reason := "cannot be given together with manifests (" + c.origins["manifests"].String() + "): expected a Kubernetes API to write to"
	if c.Feedback.PolicyStatus {
		fault("policy-status", reason)
	}
	if c.Feedback.Events {
		fault("policy-events", reason)
	}
}
