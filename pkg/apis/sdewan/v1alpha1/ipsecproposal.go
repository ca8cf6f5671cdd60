package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// IpsecProposal is a set of algorithms that an IpsecSite or IpsecHost proposes to its peer.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=ipsecproposals,singular=ipsecproposal,scope=Namespaced,shortName=ipp,categories=sdewan
// +kubebuilder:printcolumn:name=CNF,type=string,JSONPath=`.metadata.labels.sdewanPurpose`
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Message,type=string,JSONPath=`.status.message`,priority=1
type IpsecProposal struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The desired state.
	Spec IpsecProposalSpec `json:"spec"`

	// The observed state. Written by the controller only.
	// +optional
	Status SdewanStatus `json:"status,omitzero"`
}

// IpsecProposalList is a list of IpsecProposal.
//
// +kubebuilder:object:root=true
type IpsecProposalList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []IpsecProposal `json:"items"`
}

// IpsecProposalSpec uses strongSwan's names of the algorithms. All of these fields are required; "" omits an algorithm.
type IpsecProposalSpec struct {
	// Ignored: an object is identified by metadata.name. Upstream overwrites this field with it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Encryption algorithm, from the device's list.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(3des|cast128|blowfish(128|192|256)?|null|(aes|camellia)(128|192|256)?|(aes|camellia)(128|192|256)(ctr|ccm(8|64|12|96|16|128))|aes(128|192|256)gcm(8|64|12|96|16|128)|chacha20poly1305)?$')",message="must be an encryption algorithm that the device supports, such as aes256, aes256ctr, aes256gcm16 or chacha20poly1305"
	EncryptionAlgorithm string `json:"encryption_algorithm"`

	// Integrity algorithm, from the device's list.
	// +kubebuilder:validation:Enum="";md5;sha;sha1;aesxcbc;sha256;sha2_256;sha384;sha2_384;sha512;sha2_512;sha256_96;sha2_256_96
	HashAlgorithm string `json:"hash_algorithm"`

	// Diffie-Hellman group of the key exchange, from the device's list.
	// +kubebuilder:validation:Enum="";modp768;modp1024;modp1536;modp2048;modp3072;modp4096;modp6144;modp8192;modp1024s160;modp2048s224;modp2048s256;ecp192;ecp224;ecp256;ecp384;ecp521;ecp224bp;ecp256bp;ecp384bp;ecp512bp;curve25519;x25519;curve448;x448
	DHGroup string `json:"dh_group"`
}
