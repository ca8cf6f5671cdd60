package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CNFHubSite routes packets for a site into a tunnel. On a hub, it is a route through the tunnel to the device with address
// hubip. On a device, it is a route in the table cnf through the interface with address devicepip, and SNAT to devicepip.
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

	// The desired state.
	Spec CNFHubSiteSpec `json:"spec"`

	// The observed state. Written by the controller only.
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

// CNFHubSiteSpec describes the site and one end of the tunnel.
//
// Upstream rejects an object without site and subnet, a Hub without hubip and a Device without devicepip.
//
// +kubebuilder:validation:XValidation:rule="(has(self.site) && size(self.site) > 0) || (has(self.subnet) && size(self.subnet) > 0)",message="site or subnet is required",reason=FieldValueRequired,fieldPath=.subnet
// +kubebuilder:validation:XValidation:rule="self.type != 'Hub' || (has(self.hubip) && size(self.hubip) > 0)",message="type Hub requires hubip",reason=FieldValueRequired,fieldPath=.hubip
// +kubebuilder:validation:XValidation:rule="self.type != 'Device' || (has(self.devicepip) && size(self.devicepip) > 0)",message="type Device requires devicepip",reason=FieldValueRequired,fieldPath=.devicepip
type CNFHubSiteSpec struct {
	// Which end of the tunnel the CNF is.
	// +kubebuilder:validation:Enum=Hub;Device
	Type string `json:"type"`

	// DNS name of the site. Packets for each of its addresses are routed into the tunnel.
	// +optional
	Site Domain `json:"site,omitempty"`

	// Prefix of the site, in addition to the addresses of site.
	// +optional
	Subnet Address `json:"subnet,omitempty"`

	// Type Hub: address of the other end of the tunnel. The interface to it is named vti_ followed by the address.
	// +optional
	HubIP Host `json:"hubip,omitempty"`

	// Type Device: address that the hub assigned to the CNF in the tunnel.
	// +optional
	DevicePIP Host `json:"devicepip,omitempty"`
}

// CNFHubSiteStatus shows the values that the routes and NAT rules were made from.
type CNFHubSiteStatus struct {
	// Which end of the tunnel the CNF is.
	// +optional
	Type string `json:"type,omitempty"`

	// Addresses of the site. Upstream calls them remoteips here.
	// +optional
	SiteIPs []string `json:"remoteips,omitempty"`

	// Prefix of the site.
	// +optional
	Subnet string `json:"subnet,omitempty"`

	// Address of the other end of the tunnel.
	// +optional
	HubIP string `json:"hubip,omitempty"`

	// Address of the CNF in the tunnel.
	// +optional
	DevicePIP string `json:"devicepip,omitempty"`

	// State of the object. Empty means that it has not been processed yet. Upstream has this field in only one of its manifests.
	// +optional
	State State `json:"state,omitempty"`

	// What is wrong, in human-readable form. Empty if nothing is wrong.
	// +optional
	Message string `json:"message,omitempty"`

	// The conditions Accepted and Ready. observedGeneration is the generation that they describe.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
