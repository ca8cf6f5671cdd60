package v1alpha1

// Strategy selects an API server.
//
// +kubebuilder:validation:Enum=RoundRobin
type Strategy string

// RoundRobin takes all API servers that are ready in turn.
const RoundRobin Strategy = "RoundRobin"

// DispatchPolicy decides how the requests that it matches are served.
//
// +kubebuilder:validation:XValidation:rule="!has(self.upstreamSubset) || !has(self.upsteamSubset)",message="upsteamSubset is an alias of upstreamSubset: set one of them"
type DispatchPolicy struct {
	// How to select an API server.
	// +optional
	// +kubebuilder:default=RoundRobin
	Strategy Strategy `json:"strategy,omitempty"`

	// The endpoints of servers that requests are sent to. Empty means all.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=261
	// +listType=set
	UpstreamSubset []string `json:"upstreamSubset,omitempty"`

	// The spelling of upstreamSubset in KubeGateway's design document.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=261
	// +listType=set
	UpsteamSubset []string `json:"upsteamSubset,omitempty"`

	// The policy matches a request that one of the rules matches.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Rules []DispatchPolicyRule `json:"rules"`

	// The limit for the requests, by its name in flowControl.flowControlSchemas. Empty means no limit.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	FlowControlSchemaName string `json:"flowControlSchemaName,omitempty"`

	// Access logs of the requests: on, off, or as logging.mode says.
	// +optional
	LogMode LogMode `json:"logMode,omitempty"`
}

// Subset returns the endpoints that the policy selects, under either spelling.
func (p *DispatchPolicy) Subset() []string {
	if len(p.UpstreamSubset) > 0 {
		return p.UpstreamSubset
	}
	return p.UpsteamSubset
}

// DispatchPolicyRule matches requests. All fields that apply to a request must match it: verbs, apiGroups, resources,
// resourceNames and the user for a request for a resource; verbs, nonResourceURLs and the user for any other request.
//
// "*" in a list matches everything. In verbs, apiGroups, resources, resourceNames, users and userGroups, "-x" excludes x: a
// list of such elements matches what none of them names. Beside an element without "-" they are ignored.
type DispatchPolicyRule struct {
	// Verbs such as get, list and watch, or lower-case HTTP methods for nonResourceURLs. Empty matches nothing.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	// +listType=atomic
	Verbs []string `json:"verbs,omitempty"`

	// API groups; "" is the core group. Empty matches nothing.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=atomic
	APIGroups []string `json:"apiGroups,omitempty"`

	// Resources such as pods, one subresource such as pods/log, or a subresource of all resources such as */status. Empty
	// matches nothing. A resource does not include its subresources.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.all(r, !r.endsWith(\"/*\"))",message="RESOURCE/* is not supported: list the subresources"
	// +listType=atomic
	Resources []string `json:"resources,omitempty"`

	// Names of objects. Empty matches all.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=atomic
	ResourceNames []string `json:"resourceNames,omitempty"`

	// Names of users. Empty matches all, or none if serviceAccounts are listed.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=atomic
	Users []string `json:"users,omitempty"`

	// Service accounts, in addition to users. Empty matches all, or none if users are listed.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	ServiceAccounts []ServiceAccountRef `json:"serviceAccounts,omitempty"`

	// Groups of users: the user must be in one of them, or in none of the excluded ones. Empty matches all.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=atomic
	UserGroups []string `json:"userGroups,omitempty"`

	// Paths of requests that are not for resources, such as /healthz. A final "*" matches every path with the prefix before it.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.all(u, u == \"*\" || u.startsWith(\"/\"))",message="a path must begin with / or be *"
	// +listType=atomic
	NonResourceURLs []string `json:"nonResourceURLs,omitempty"`
}

// ServiceAccountRef is a service account.
type ServiceAccountRef struct {
	// The namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`

	// The name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}
