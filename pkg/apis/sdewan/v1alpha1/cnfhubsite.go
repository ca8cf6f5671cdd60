package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CNFHubSite leads packets for a site into the tunnel. On a hub that is a route over the tunnel of the device with hubip. On a
// device it is a route in the table cnf over the interface that has devicepip, and SNAT to devicepip.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=cnfhubsites,singular=cnfhubsite,scope=Namespaced,shortName=chub,categories=sdewan
// +kubebuilder:printcolumn:name=CNF,type=string,JSONPath=`.metadata.labels.sdewanPurpose`
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Message,type=string,JSONPath=`.status.message`,priority=1
type CNFHubSite struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is wanted.
	Spec CNFHubSiteSpec `json:"spec"`

	// What has become of it. Written by the controller only.
	// +optional
	Status CNFHubSiteStatus `json:"status,omitzero"`
}

// CNFHubSiteList is a list of CNFHubSite.
//
// +kubebuilder:object:root=true
type CNFHubSiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CNFHubSite `json:"items"`
}

// CNFHubSiteSpec is the site, and the end of the tunnel.
//
// Upstream refuses an object without site and subnet, a Hub without hubip and a Device without devicepip.
//
// +kubebuilder:validation:XValidation:rule="(has(self.site) && size(self.site) > 0) || (has(self.subnet) && size(self.subnet) > 0)",message="site or subnet is required",reason=FieldValueRequired,fieldPath=.subnet
// +kubebuilder:validation:XValidation:rule="self.type != 'Hub' || (has(self.hubip) && size(self.hubip) > 0)",message="type Hub requires hubip",reason=FieldValueRequired,fieldPath=.hubip
// +kubebuilder:validation:XValidation:rule="self.type != 'Device' || (has(self.devicepip) && size(self.devicepip) > 0)",message="type Device requires devicepip",reason=FieldValueRequired,fieldPath=.devicepip
type CNFHubSiteSpec struct {
	// On which end the CNF is.
	// +kubebuilder:validation:Enum=Hub;Device
	Type string `json:"type"`

	// DNS name of the site. Each of its addresses is led into the tunnel.
	// +optional
	Site Domain `json:"site,omitempty"`

	// Prefix of the site. It counts beside the addresses of site.
	// +optional
	Subnet Address `json:"subnet,omitempty"`

	// Type Hub: address of the tunnel's other end; the interface vti_ and the address leads there.
	// +optional
	HubIP Host `json:"hubip,omitempty"`

	// Type Device: address in the tunnel that the hub gave to the CNF.
	// +optional
	DevicePIP Host `json:"devicepip,omitempty"`
}

// CNFHubSiteStatus is what routes and translations were made of.
type CNFHubSiteStatus struct {
	// On which end the CNF is.
	// +optional
	Type string `json:"type,omitempty"`

	// Addresses of the site. Upstream calls them remoteips here.
	// +optional
	SiteIPs []string `json:"remoteips,omitempty"`

	// Prefix of the site.
	// +optional
	Subnet string `json:"subnet,omitempty"`

	// Address of the tunnel's other end.
	// +optional
	HubIP string `json:"hubip,omitempty"`

	// Address in the tunnel.
	// +optional
	DevicePIP string `json:"devicepip,omitempty"`

	// State of the object. Empty means that it has not been processed yet. Upstream has it in one of its manifests only.
	// +optional
	State State `json:"state,omitempty"`

	// What is wrong, for people. Empty if nothing is.
	// +optional
	Message string `json:"message,omitempty"`

	// The same for programs: Accepted, and Ready. observedGeneration is the generation that they describe.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
