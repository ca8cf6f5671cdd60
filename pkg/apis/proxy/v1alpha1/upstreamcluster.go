package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ConditionAccepted is true if the gateway serves the current generation of the object. It is false if the object has
// faults: the gateway then continues to serve the last generation without faults.
const ConditionAccepted = "Accepted"

// ConditionReady is true if at least one API server of the cluster is ready, as the gateway sees it. The reason is the common cause if none
// is, see upstream.Cause; the message lists those that are not.
const ConditionReady = "Ready"

// ConditionCredentialsCurrent is true if the certificates and the token of the object, and those that it refers to, can be obtained and have
// not expired.
const ConditionCredentialsCurrent = "CredentialsCurrent"

// UpstreamCluster is a cluster whose API servers the gateway serves, at the host name that is the name of the object and at
// secureServing.serverNames.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=upstreamclusters,singular=upstreamcluster,scope=Cluster,categories=netloom
// +kubebuilder:printcolumn:name=Accepted,type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Message,type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Accepted")].message`
type UpstreamCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The desired state.
	Spec UpstreamClusterSpec `json:"spec"`

	// The observed state. Only the gateway writes it.
	// +optional
	Status UpstreamClusterStatus `json:"status,omitzero"`
}

// UpstreamClusterList is a list of UpstreamCluster.
//
// +kubebuilder:object:root=true
type UpstreamClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []UpstreamCluster `json:"items"`
}

// UpstreamClusterSpec is the desired state of an UpstreamCluster.
//
// +kubebuilder:validation:XValidation:rule="!has(self.dispatchPolicies) || self.dispatchPolicies.all(p, !has(p.flowControlSchemaName) || p.flowControlSchemaName == \"\" || (has(self.flowControl) && has(self.flowControl.flowControlSchemas) && self.flowControl.flowControlSchemas.exists(s, s.name == p.flowControlSchemaName)))",message="flowControlSchemaName of every dispatch policy must name a schema of flowControl.flowControlSchemas"
// +kubebuilder:validation:XValidation:rule="!has(self.dispatchPolicies) || self.dispatchPolicies.all(p, !has(p.upstreamSubset) || p.upstreamSubset.all(e, self.servers.exists(s, s.endpoint == e)))",message="upstreamSubset of every dispatch policy must list endpoints of servers"
// +kubebuilder:validation:XValidation:rule="!has(self.dispatchPolicies) || self.dispatchPolicies.all(p, !has(p.upsteamSubset) || p.upsteamSubset.all(e, self.servers.exists(s, s.endpoint == e)))",message="upsteamSubset of every dispatch policy must list endpoints of servers"
type UpstreamClusterSpec struct {
	// The API servers of the cluster.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(s, s.endpoint.startsWith(\"https://\")) || self.all(s, s.endpoint.startsWith(\"http://\"))",message="all endpoints must have the same scheme"
	// +listType=map
	// +listMapKey=endpoint
	Servers []UpstreamClusterServer `json:"servers"`

	// How the gateway connects to the API servers, and the identity of its own requests.
	// +optional
	ClientConfig ClientConfig `json:"clientConfig,omitzero"`

	// How clients connect to the gateway for this cluster.
	// +optional
	SecureServing SecureServing `json:"secureServing,omitzero"`

	// Limits for requests. Dispatch policies refer to them.
	// +optional
	FlowControl FlowControl `json:"flowControl,omitzero"`

	// Which requests are served, and how. The first policy that matches a request applies. A request that none matches is
	// rejected.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	DispatchPolicies []DispatchPolicy `json:"dispatchPolicies"`

	// Access logs of all requests for the cluster.
	// +optional
	Logging Logging `json:"logging,omitzero"`
}

// UpstreamClusterServer is one API server.
type UpstreamClusterServer struct {
	// SCHEME://HOST:PORT of the API server, such as https://192.168.0.1:6443. The port may be left out.
	// +kubebuilder:validation:MaxLength=261
	// +kubebuilder:validation:Pattern=`^https?://([a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?$`
	Endpoint string `json:"endpoint"`

	// Send no requests to this API server.
	// +optional
	Disabled bool `json:"disabled,omitempty"`
}

// ClientConfig is how the gateway connects to the API servers of a cluster.
//
// +kubebuilder:validation:XValidation:rule="!has(self.bearerToken) || self.bearerToken.matches(\"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$\")",message="bearerToken must be in base64, as KubeGateway reads it: printf %s \"$TOKEN\" | base64 -w0"
// +kubebuilder:validation:XValidation:rule="has(self.certData) == has(self.keyData)",message="certData and keyData must be set together"
// +kubebuilder:validation:XValidation:rule="!(has(self.insecure) && self.insecure) || !has(self.caData)",message="caData has no effect with insecure"
// +kubebuilder:validation:XValidation:rule="!has(self.credentials) || !(has(self.bearerToken) || has(self.certData))",message="credentials takes the place of bearerToken, certData and keyData"
type ClientConfig struct {
	// Do not verify the certificates of the API servers.
	// +optional
	Insecure bool `json:"insecure,omitempty"`

	// The bearer token of the gateway, in base64, without a line end: printf %s "$TOKEN" | base64 -w0
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format:=""
	// +kubebuilder:validation:MaxLength=21848
	BearerToken []byte `json:"bearerToken,omitempty"`

	// The private key of certData, in PEM.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	KeyData []byte `json:"keyData,omitempty"`

	// The client certificate of the gateway, in PEM.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	CertData []byte `json:"certData,omitempty"`

	// The CA certificates that sign the certificates of the API servers, in PEM. Without it, those of the system.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	CAData []byte `json:"caData,omitempty"`

	// How many requests per second the gateway sends for itself, such as token reviews. Forwarded requests do not count.
	// 0 means 50.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	QPS int32 `json:"qps,omitempty"`

	// How many requests the gateway sends for itself in a burst. 0 means twice qps.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	Burst int32 `json:"burst,omitempty"`

	// Divides qps, for rates below one. 0 means 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	QPSDivisor int32 `json:"qpsDivisor,omitempty"`

	// The name in the certificates of the API servers. Without it, the host of each endpoint.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`

	// Credentials of the gateway that are kept elsewhere and change, in place of bearerToken, certData and keyData.
	// +optional
	Credentials *Credentials `json:"credentials,omitempty"`
}

// Credentials refer to credentials that change: the gateway reads them again. KubeGateway does not have them.
//
// +kubebuilder:validation:XValidation:rule="has(self.user) != has(self.secretName)",message="exactly one of user and secretName must be set"
type Credentials struct {
	// A user of the kubeconfig file in the gateway's setting gateway-credentials, which may have a token, a certificate, files of them, or
	// an exec plugin. Unless that is set, there are no such users.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	User string `json:"user,omitempty"`

	// A Secret in the namespace of the gateway's setting gateway-namespace, with token, or tls.crt and tls.key, and possibly ca.crt. Its
	// annotation proxy.kubegateway.io/upstream-cluster must be the name of this object.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName,omitempty"`

	// Renew the token by TokenRequest before it expires. A token of secretName is also written to the Secret. Other credentials are only
	// used to request tokens.
	// +optional
	TokenRequest *TokenRequest `json:"tokenRequest,omitempty"`
}

// TokenRequest says for which service account of the cluster the gateway requests tokens.
type TokenRequest struct {
	// The service account, which must be allowed to create tokens for itself.
	ServiceAccount ServiceAccountRef `json:"serviceAccount"`

	// How long tokens are valid, in seconds; the API server may shorten it. They are renewed at half of that time. 0 means a day.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == 0 || self >= 600",message="a token is valid for at least 600 seconds"
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	ExpirationSeconds int64 `json:"expirationSeconds,omitempty"`
}

// SecureServing is how clients connect to the gateway for a cluster.
//
// +kubebuilder:validation:XValidation:rule="has(self.certData) == has(self.keyData)",message="certData and keyData must be set together"
type SecureServing struct {
	// The private key of certData, in PEM.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	KeyData []byte `json:"keyData,omitempty"`

	// The certificate that the gateway presents to clients, in PEM. Without it, the default certificate of the gateway.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	CertData []byte `json:"certData,omitempty"`

	// The CA certificates that sign the certificates of clients, in PEM. Without it, no client certificate is accepted.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	ClientCAData []byte `json:"clientCAData,omitempty"`

	// Host names of the cluster at the gateway, besides the name of the object.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`
	// +listType=set
	ServerNames []string `json:"serverNames,omitempty"`
}

// UpstreamClusterStatus is the observed state of an UpstreamCluster.
type UpstreamClusterStatus struct {
	// The conditions Accepted, Ready and CredentialsCurrent. observedGeneration is the generation that they describe. One instance of the
	// gateway, the holder of a Lease, writes the last two.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
