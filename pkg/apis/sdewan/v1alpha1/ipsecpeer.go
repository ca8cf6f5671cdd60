package v1alpha1

// IpsecText is text in the IPsec configuration. Empty means unset. The device does not validate it; a line break or a
// quotation mark would end the value in its files.
//
// +kubebuilder:validation:MaxLength=1024
// +kubebuilder:validation:XValidation:rule="self.matches('^[^\"\\\\x00-\\\\x1f]*$')",message="must be a single line without quotation marks"
type IpsecText string

// IpsecMark is the mark of a connection, with or without a mask, or %unique. Empty means none.
//
// +kubebuilder:validation:MaxLength=22
// +kubebuilder:validation:XValidation:rule="self.matches('^(%unique(-dir)?|(0[xX][0-9A-Fa-f]{1,8}|[0-9]{1,10})(/(0[xX][0-9A-Fa-f]{1,8}|[0-9]{1,10}))?)?$')",message="must be a mark such as 42, 0x2a/0xff or %unique"
type IpsecMark string

// IpsecCertificate is a PEM file in base64; several are joined with three underscores. Empty means unset.
//
// +kubebuilder:validation:MaxLength=131072
// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9+/=_^]*$')",message="must be a PEM file in base64; several are joined with three underscores"
type IpsecCertificate string

// YesNo is yes or no. Empty means unset.
//
// +kubebuilder:validation:Enum="";"yes";"no"
type YesNo string

// Authentication methods.
const (
	// AuthenticationPSK is authentication by a pre-shared key.
	AuthenticationPSK = "psk"
	// AuthenticationPublicKey is authentication by certificates.
	AuthenticationPublicKey = "pubkey"
)

// Keys of Secrets where a SecretReference names none.
const (
	DefaultPreSharedKey = "pre_shared_key" // pre_shared_key_secret
	DefaultPublicCert   = "tls.crt"        // local_public_cert_secret
	DefaultPrivateCert  = "tls.key"        // local_private_cert_secret
	DefaultSharedCA     = "ca.crt"         // shared_ca_secret
)

// SecretReference refers to a value in a Secret in the object's namespace.
type SecretReference struct {
	// metadata.name of the Secret.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`
	Name string `json:"name"`

	// Key in the Secret's data. Empty means the default, which depends on the field that contains the reference.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]*$`
	Key string `json:"key,omitempty"`
}

// IpsecPeer is what IpsecSite and IpsecHost have in common.
//
// The device rejects psk without a key, and pubkey without a certificate, a private key and a CA. A secret can be given in
// the object or by reference to a Secret, but not both. Secrets are validated here and not at their fields, because the API
// server includes the value of an invalid field in its error message.
//
// +kubebuilder:validation:XValidation:rule="!has(self.pre_shared_key) || self.pre_shared_key.matches('^[^\"\\\\x00-\\\\x1f]*$')",message="must be a single line without quotation marks",fieldPath=.pre_shared_key
// +kubebuilder:validation:XValidation:rule="!has(self.local_private_cert) || self.local_private_cert.matches('^[A-Za-z0-9+/=_^]*$')",message="must be a PEM file in base64; several are joined with three underscores",fieldPath=.local_private_cert
// +kubebuilder:validation:XValidation:rule="self.authentication_method != 'psk' || (has(self.pre_shared_key) && size(self.pre_shared_key) > 0) || has(self.pre_shared_key_secret)",message="psk requires pre_shared_key_secret or pre_shared_key",reason=FieldValueRequired,fieldPath=.pre_shared_key_secret
// +kubebuilder:validation:XValidation:rule="self.authentication_method != 'pubkey' || (has(self.local_public_cert) && size(self.local_public_cert) > 0) || has(self.local_public_cert_secret)",message="pubkey requires local_public_cert_secret or local_public_cert",reason=FieldValueRequired,fieldPath=.local_public_cert_secret
// +kubebuilder:validation:XValidation:rule="self.authentication_method != 'pubkey' || (has(self.local_private_cert) && size(self.local_private_cert) > 0) || has(self.local_private_cert_secret)",message="pubkey requires local_private_cert_secret or local_private_cert",reason=FieldValueRequired,fieldPath=.local_private_cert_secret
// +kubebuilder:validation:XValidation:rule="self.authentication_method != 'pubkey' || (has(self.shared_ca) && size(self.shared_ca) > 0) || has(self.shared_ca_secret)",message="pubkey requires shared_ca_secret or shared_ca",reason=FieldValueRequired,fieldPath=.shared_ca_secret
// +kubebuilder:validation:XValidation:rule="!has(self.pre_shared_key_secret) || !has(self.pre_shared_key) || size(self.pre_shared_key) == 0",message="pre_shared_key and pre_shared_key_secret are mutually exclusive",reason=FieldValueForbidden,fieldPath=.pre_shared_key
// +kubebuilder:validation:XValidation:rule="!has(self.local_public_cert_secret) || !has(self.local_public_cert) || size(self.local_public_cert) == 0",message="local_public_cert and local_public_cert_secret are mutually exclusive",reason=FieldValueForbidden,fieldPath=.local_public_cert
// +kubebuilder:validation:XValidation:rule="!has(self.local_private_cert_secret) || !has(self.local_private_cert) || size(self.local_private_cert) == 0",message="local_private_cert and local_private_cert_secret are mutually exclusive",reason=FieldValueForbidden,fieldPath=.local_private_cert
// +kubebuilder:validation:XValidation:rule="!has(self.shared_ca_secret) || !has(self.shared_ca) || size(self.shared_ca) == 0",message="shared_ca and shared_ca_secret are mutually exclusive",reason=FieldValueForbidden,fieldPath=.shared_ca
type IpsecPeer struct {
	// Ignored: an object is identified by metadata.name. Upstream overwrites this field with it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// VTI-based means that the CNF's tunnel interfaces handle routes and virtual addresses, policy-based that strongSwan does.
	// The setting applies to the whole CNF: the peer that was written last determines it. Empty does not change it.
	// +optional
	// +kubebuilder:validation:Enum="";VTI-based;policy-based
	Type string `json:"type,omitempty"`

	// Address or DNS name of the peer; %any accepts any peer.
	// +kubebuilder:validation:MinLength=1
	Remote IpsecText `json:"remote"`

	// How the peers authenticate each other: psk with a pre-shared key, pubkey with certificates.
	// +kubebuilder:validation:Enum=psk;pubkey
	AuthenticationMethod string `json:"authentication_method"`

	// Identity of the CNF. Empty means its address.
	// +optional
	LocalIdentifier IpsecText `json:"local_identifier,omitempty"`

	// Identity of the peer. Empty means its address.
	// +optional
	RemoteIdentifier IpsecText `json:"remote_identifier,omitempty"`

	// IpsecProposals for the key exchange, in order of preference. The device rejects an empty list.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	CryptoProposal []Reference `json:"crypto_proposal"`

	// 1 accepts only the given proposals. Empty means 0.
	// +optional
	ForceCryptoProposal Flag `json:"force_crypto_proposal,omitempty"`

	// The pre-shared key in plain text, visible to everyone with read access to this object. Prefer pre_shared_key_secret.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	PreSharedKey string `json:"pre_shared_key,omitempty"`

	// The pre-shared key, from a Secret. The default key in the Secret is pre_shared_key.
	// +optional
	PreSharedKeySecret *SecretReference `json:"pre_shared_key_secret,omitempty"`

	// The certificate of the CNF, for pubkey.
	// +optional
	LocalPublicCert IpsecCertificate `json:"local_public_cert,omitempty"`

	// The certificate of the CNF, for pubkey, from a Secret with a PEM file. The default key in the Secret is tls.crt.
	// +optional
	LocalPublicCertSecret *SecretReference `json:"local_public_cert_secret,omitempty"`

	// The private key of the CNF, for pubkey, visible to everyone with read access to this object. Prefer
	// local_private_cert_secret.
	// +optional
	// +kubebuilder:validation:MaxLength=131072
	LocalPrivateCert string `json:"local_private_cert,omitempty"`

	// The private key of the CNF, for pubkey, from a Secret with a PEM file. The default key in the Secret is tls.key.
	// +optional
	LocalPrivateCertSecret *SecretReference `json:"local_private_cert_secret,omitempty"`

	// The certificate of the CA that both sides trust, for pubkey.
	// +optional
	SharedCA IpsecCertificate `json:"shared_ca,omitempty"`

	// The certificate of the CA that both sides trust, for pubkey, from a Secret with a PEM file. The default key in the Secret
	// is ca.crt.
	// +optional
	SharedCASecret *SecretReference `json:"shared_ca_secret,omitempty"`
}

// IpsecConnection is what connections of IpsecSite and IpsecHost have in common.
type IpsecConnection struct {
	// Name of the connection, unique within the object.
	// +kubebuilder:validation:MinLength=1
	Name Reference `json:"name"`

	// tunnel encapsulates whole packets, transport only their payload. The device drops a connection that is neither.
	// +kubebuilder:validation:Enum=tunnel;transport
	ConnType string `json:"conn_type"`

	// When the connection is established: start means immediately, route when there is traffic, add when the peer initiates
	// it. Required; empty means never.
	// +kubebuilder:validation:Enum="";start;add;route
	Mode string `json:"mode"`

	// Command that the CNF runs when the connection goes up or down. Empty means none.
	// +optional
	LocalUpDown IpsecText `json:"local_updown,omitempty"`

	// Whether to open the CNF's firewall for the connection. Empty means no.
	// +optional
	LocalFirewall YesNo `json:"local_firewall,omitempty"`

	// Prefixes behind the peer, separated by commas. Empty means the peer's own address.
	// +optional
	RemoteSubnet IpsecText `json:"remote_subnet,omitempty"`

	// Addresses to assign to the peer in the tunnel: an address, a range such as 10.0.0.5-10.0.0.9, or a prefix. Empty means
	// none.
	// +optional
	RemoteSourceIP IpsecText `json:"remote_sourceip,omitempty"`

	// Command for the peer, as strongSwan defines it. Empty means none.
	// +optional
	RemoteUpDown IpsecText `json:"remote_updown,omitempty"`

	// Firewall of the peer, as strongSwan defines it. Empty means no.
	// +optional
	RemoteFirewall YesNo `json:"remote_firewall,omitempty"`

	// IpsecProposals for the connection, in order of preference. Empty means strongSwan's defaults.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	CryptoProposal []Reference `json:"crypto_proposal,omitempty"`

	// Mark of packets in the tunnel, by which VTI-based peers identify them. Empty means none.
	// +optional
	Mark IpsecMark `json:"mark,omitempty"`

	// Ignored: the device does not support it and drops it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	IfID string `json:"if_id,omitempty"`
}
