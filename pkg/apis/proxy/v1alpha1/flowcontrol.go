package v1alpha1

// FlowControl lists limits for requests.
type FlowControl struct {
	// The limits, by name.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	FlowControlSchemas []FlowControlSchema `json:"flowControlSchemas,omitempty"`
}

// FlowControlSchema is one limit. All requests of the dispatch policies that refer to it share it.
//
// +kubebuilder:validation:XValidation:rule="(has(self.exempt) ? 1 : 0) + (has(self.maxRequestsInflight) ? 1 : 0) + (has(self.tokenBucket) ? 1 : 0) == 1",message="exactly one of exempt, maxRequestsInflight and tokenBucket must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.globalMaxRequestsInflight) || (has(self.maxRequestsInflight) && self.globalMaxRequestsInflight.max >= self.maxRequestsInflight.max)",message="globalMaxRequestsInflight needs maxRequestsInflight, and must not be less"
// +kubebuilder:validation:XValidation:rule="!has(self.globalTokenBucket) || (has(self.tokenBucket) && self.globalTokenBucket.qps >= self.tokenBucket.qps && self.globalTokenBucket.burst >= self.tokenBucket.burst)",message="globalTokenBucket needs tokenBucket, and must not be less"
type FlowControlSchema struct {
	// The name that dispatch policies refer to.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// No limit.
	// +optional
	Exempt *Exempt `json:"exempt,omitempty"`

	// Limit the number of requests that wait for their response.
	// +optional
	MaxRequestsInflight *MaxRequestsInflight `json:"maxRequestsInflight,omitempty"`

	// Limit the rate of requests, and allow bursts.
	// +optional
	TokenBucket *TokenBucket `json:"tokenBucket,omitempty"`

	// Limit the number of requests that wait for their response at all instances of the gateway together, which divide it by their
	// demand if strategy says so. maxRequestsInflight is then the most that one instance gets, and its limit while it cannot reach the others.
	// +optional
	GlobalMaxRequestsInflight *MaxRequestsInflight `json:"globalMaxRequestsInflight,omitempty"`

	// Limit the rate of requests at all instances of the gateway together, which divide it by their demand if strategy
	// says so. tokenBucket is then the most that one instance gets, and its limit while it cannot reach the others.
	// +optional
	GlobalTokenBucket *TokenBucket `json:"globalTokenBucket,omitempty"`

	// Whether instances divide the global limit: globalAllocate and globalCount divide it; empty and local ignore it.
	// +optional
	Strategy LimitStrategy `json:"strategy,omitempty"`
}

// LimitStrategy says whether the instances of the gateway divide a limit.
//
// +kubebuilder:validation:Enum="";local;globalAllocate;globalCount
type LimitStrategy string

// The strategies of limits. KubeGateway's limiter server gives instances shares of a limit, or counts their requests; here, instances give
// each other shares with both.
const (
	StrategyLocal          LimitStrategy = "local"
	StrategyGlobalAllocate LimitStrategy = "globalAllocate"
	StrategyGlobalCount    LimitStrategy = "globalCount"
)

// Divided reports whether all instances of the gateway divide a global limit.
func (s *FlowControlSchema) Divided() bool {
	return (s.Strategy == StrategyGlobalAllocate || s.Strategy == StrategyGlobalCount) && (s.GlobalMaxRequestsInflight != nil || s.GlobalTokenBucket != nil)
}

// Exempt does not limit requests.
type Exempt struct{}

// MaxRequestsInflight limits the number of requests in progress. Long-running requests, such as watches and exec, do not
// count.
type MaxRequestsInflight struct {
	// The limit for each instance of the gateway, unless the field is a global one.
	// +kubebuilder:validation:Minimum=1
	Max int32 `json:"max"`
}

// TokenBucket limits the rate of requests. Every request takes a token, the start of a watch included.
//
// +kubebuilder:validation:XValidation:rule="self.burst >= self.qps",message="burst must not be less than qps"
type TokenBucket struct {
	// Requests per second for each instance of the gateway, unless the field is a global one.
	// +kubebuilder:validation:Minimum=1
	QPS int32 `json:"qps"`

	// Requests in a burst.
	// +kubebuilder:validation:Minimum=1
	Burst int32 `json:"burst"`
}

// LogMode turns access logs on or off.
//
// +kubebuilder:validation:Enum="";on;off
type LogMode string

// The modes of access logs. off takes precedence over on, wherever it is set; without either, there are none.
const (
	LogOn  LogMode = "on"
	LogOff LogMode = "off"
)

// Logging configures access logs.
type Logging struct {
	// Access logs of the cluster: on, off, or as the dispatch policy of a request says.
	// +optional
	Mode LogMode `json:"mode,omitempty"`
}
