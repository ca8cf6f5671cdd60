package v1alpha1

// IpsecText is text of the configuration of IPsec. Empty is unset. The device looks at none of it; a line break or a
// quotation mark would end the value in its files.
//
// +kubebuilder:validation:MaxLength=1024
// +kubebuilder:validation:XValidation:rule="self.matches('^[^\"\\\\x00-\\\\x1f]*$')",message="must be a single line without quotation marks"
type IpsecText string

// IpsecMark is the mark of a connection, with or without a mask, or %unique. Empty is none.
//
// +kubebuilder:validation:MaxLength=22
// +kubebuilder:validation:XValidation:rule="self.matches('^(%unique(-dir)?|(0[xX][0-9A-Fa-f]{1,8}|[0-9]{1,10})(/(0[xX][0-9A-Fa-f]{1,8}|[0-9]{1,10}))?)?$')",message="must be a mark such as 42, 0x2a/0xff or %unique"
type IpsecMark string

// IpsecCertificate is a PEM file in base64; several are joined with three underscores. Empty is unset.
//
// +kubebuilder:validation:MaxLength=131072
// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9+/=_^]*$')",message="must be a PEM file in base64; several are joined with three underscores"
type IpsecCertificate string

// YesNo is yes or no. Empty is unset.
//
// +kubebuilder:validation:Enum="";"yes";"no"
type YesNo string

// Methods of authentication.
const (
	// AuthenticationPSK is by a key that both sides know.
	AuthenticationPSK = "psk"
	// AuthenticationPublicKey is by certificates.
	AuthenticationPublicKey = "pubkey"
)

// Keys of Secrets where a SecretReference names none.
const (
	DefaultPreSharedKey = "pre_shared_key" // pre_shared_key_secret
	DefaultPublicCert   = "tls.crt"        // local_public_cert_secret
	DefaultPrivateCert  = "tls.key"        // local_private_cert_secret
	DefaultSharedCA     = "ca.crt"         // shared_ca_secret
)

// SecretReference points at a value in a Secret of the object's namespace.
type SecretReference struct {
	// metadata.name of the Secret.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`
	Name string `json:"name"`

	// Key in the Secret's data. Empty is the usual one, which the field that holds the reference names.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]*$`
	Key string `json:"key,omitempty"`
}

// IpsecPeer is what IpsecSite and IpsecHost have in common.
//
// The device refuses psk without a key, and pubkey without all of certificate, private key and CA. A secret may be given
// in the object or by reference to a Secret, but not both. Rules about secrets stand here and not at the fields, because
// a server quotes the value of a field in what it says about it.
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
	// Without effect: an object is known by metadata.name. Upstream overwrote it with that.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// VTI-based leaves routes and virtual addresses to the CNF's tunnel interfaces, policy-based to strongSwan. It is a
	// switch of the whole CNF: the device keeps that of the peer written last. Empty leaves the switch as it is.
	// +optional
	// +kubebuilder:validation:Enum="";VTI-based;policy-based
	Type string `json:"type,omitempty"`

	// Address or DNS name of the peer; %any waits for whoever comes.
	// +kubebuilder:validation:MinLength=1
	Remote IpsecText `json:"remote"`

	// How the two sides know each other: psk by a key that both have, pubkey by certificates.
	// +kubebuilder:validation:Enum=psk;pubkey
	AuthenticationMethod string `json:"authentication_method"`

	// Name by which this side is known. Empty is its address.
	// +optional
	LocalIdentifier IpsecText `json:"local_identifier,omitempty"`

	// Name by which the peer is known. Empty is its address.
	// +optional
	RemoteIdentifier IpsecText `json:"remote_identifier,omitempty"`

	// IpsecProposals for the key exchange, the preferred one first. The device refuses an empty list.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	CryptoProposal []Reference `json:"crypto_proposal"`

	// 1 takes none but the proposals given. Empty is 0.
	// +optional
	ForceCryptoProposal Flag `json:"force_crypto_proposal,omitempty"`

	// The key of psk in clear, for everybody who may read this object. Better give pre_shared_key_secret.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	PreSharedKey string `json:"pre_shared_key,omitempty"`

	// The key of psk. An empty key of the reference is pre_shared_key.
	// +optional
	PreSharedKeySecret *SecretReference `json:"pre_shared_key_secret,omitempty"`

	// The certificate of this side for pubkey.
	// +optional
	LocalPublicCert IpsecCertificate `json:"local_public_cert,omitempty"`

	// The certificate of this side for pubkey, as a PEM file. An empty key of the reference is tls.crt.
	// +optional
	LocalPublicCertSecret *SecretReference `json:"local_public_cert_secret,omitempty"`

	// The private key of this side for pubkey, for everybody who may read this object. Better give
	// local_private_cert_secret.
	// +optional
	// +kubebuilder:validation:MaxLength=131072
	LocalPrivateCert string `json:"local_private_cert,omitempty"`

	// The private key of this side for pubkey, as a PEM file. An empty key of the reference is tls.key.
	// +optional
	LocalPrivateCertSecret *SecretReference `json:"local_private_cert_secret,omitempty"`

	// The certificate of the authority that both sides trust, for pubkey.
	// +optional
	SharedCA IpsecCertificate `json:"shared_ca,omitempty"`

	// The certificate of the authority that both sides trust, as a PEM file. An empty key of the reference is ca.crt.
	// +optional
	SharedCASecret *SecretReference `json:"shared_ca_secret,omitempty"`
}

// IpsecConnection is what connections of IpsecSite and IpsecHost have in common.
type IpsecConnection struct {
	// Name of the connection among those of the object.
	// +kubebuilder:validation:MinLength=1
	Name Reference `json:"name"`

	// tunnel wraps packets whole, transport their content. The device loses a connection that is neither.
	// +kubebuilder:validation:Enum=tunnel;transport
	ConnType string `json:"conn_type"`

	// When the connection is made: start at once, route when there is traffic, add when the peer asks. The key must be
	// there; empty is never.
	// +kubebuilder:validation:Enum="";start;add;route
	Mode string `json:"mode"`

	// Command on the CNF that is run when the connection comes and goes. Empty is none.
	// +optional
	LocalUpDown IpsecText `json:"local_updown,omitempty"`

	// Whether the CNF's firewall is opened for the connection. Empty is no.
	// +optional
	LocalFirewall YesNo `json:"local_firewall,omitempty"`

	// Prefixes on the peer's side, with commas between them. Empty is the peer's own address.
	// +optional
	RemoteSubnet IpsecText `json:"remote_subnet,omitempty"`

	// Addresses that the peer gets in the tunnel: one, a range such as 10.0.0.5-10.0.0.9, or a prefix. Empty is none.
	// +optional
	RemoteSourceIP IpsecText `json:"remote_sourceip,omitempty"`

	// Command for the peer, by the meaning of strongSwan. Empty is none.
	// +optional
	RemoteUpDown IpsecText `json:"remote_updown,omitempty"`

	// Firewall of the peer, by the meaning of strongSwan. Empty is no.
	// +optional
	RemoteFirewall YesNo `json:"remote_firewall,omitempty"`

	// IpsecProposals for the connection, the preferred one first. Empty is strongSwan's own choice.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	CryptoProposal []Reference `json:"crypto_proposal,omitempty"`

	// Mark of packets in the tunnel, by which VTI-based peers find theirs. Empty is none.
	// +optional
	Mark IpsecMark `json:"mark,omitempty"`

	// Without effect: the device does not know it and drops it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	IfID string `json:"if_id,omitempty"`
}
