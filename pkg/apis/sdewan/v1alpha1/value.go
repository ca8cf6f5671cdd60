package v1alpha1

// Address is an IPv4 address, or a prefix such as 10.0.0.0/24. Empty means unset. The device accepts neither IPv6 nor ranges.
// It does accept leading zeros, but they are rejected here, because programs interpret them differently.
//
// +kubebuilder:validation:MaxLength=18
// +kubebuilder:validation:XValidation:rule="self.matches('^(((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])[.]){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(/(3[0-2]|[12]?[0-9]))?)?$')",message="must be an IPv4 address such as 10.0.0.1, or a prefix such as 10.0.0.0/24"
type Address string

// Host is an IPv4 address without a mask. Empty means unset.
//
// +kubebuilder:validation:MaxLength=15
// +kubebuilder:validation:XValidation:rule="self.matches('^(((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])[.]){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9]))?$')",message="must be an IPv4 address without a mask, such as 10.0.0.1"
type Host string

// NegatableAddress is an Address, optionally with a leading exclamation mark, which means everything except this address. The
// device accepts it only in masq_src and masq_dest of zones.
//
// +kubebuilder:validation:MaxLength=19
// +kubebuilder:validation:XValidation:rule="self.matches('^(!?((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])[.]){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(/(3[0-2]|[12]?[0-9]))?)?$')",message="must be an IPv4 address or prefix, optionally with a leading !"
type NegatableAddress string

// Port is a port number, 1 to 65535. Empty means unset. The device accepts no ranges, but it does accept numbers above 65535,
// which match no packet.
//
// +kubebuilder:validation:MaxLength=5
// +kubebuilder:validation:XValidation:rule="size(self) == 0 || (self.matches('^[1-9][0-9]{0,4}$') && int(self) <= 65535)",message="must be a port, 1 to 65535"
type Port string

// MAC is a MAC address: six pairs of hexadecimal digits, separated by colons. Empty means unset.
//
// +kubebuilder:validation:MaxLength=17
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5})?$')",message="must be six pairs of hexadecimal digits, such as 00:16:3e:00:00:01"
type MAC string

// Mark is a firewall mark, decimal or hexadecimal, with or without a mask: 0x10/0xff. Empty means unset. The device
// passes it to a command without validation.
//
// +kubebuilder:validation:MaxLength=22
// +kubebuilder:validation:XValidation:rule="self.matches('^((0[xX][0-9A-Fa-f]{1,8}|[0-9]{1,10})(/(0[xX][0-9A-Fa-f]{1,8}|[0-9]{1,10}))?)?$')",message="must be a mark such as 16, 0x10 or 0x10/0xff"
type Mark string

// Positive is a positive integer, as a string. Empty means unset.
//
// +kubebuilder:validation:MaxLength=10
// +kubebuilder:validation:XValidation:rule="self.matches('^([1-9][0-9]{0,9})?$')",message="must be a positive integer"
type Positive string

// Flag is 1 for yes, 0 for no. Empty means unset.
//
// +kubebuilder:validation:Enum="";"0";"1"
type Flag string

// Family is an address family of the firewall. Empty means any.
//
// +kubebuilder:validation:Enum="";ipv4;ipv6;any
type Family string

// Protocol is a protocol in the notation of firewall rules: tcpudp means TCP and UDP. Empty means the device's default.
//
// +kubebuilder:validation:Enum="";tcp;udp;tcpudp;udplite;icmp;esp;ah;sctp;all
type Protocol string

// Target is what happens to packets that a firewall rule matches. Empty means the device's default.
//
// +kubebuilder:validation:Enum="";ACCEPT;REJECT;DROP;MARK;NOTRACK
type Target string

// ZonePolicy is what happens to packets of a zone that no rule matches. Empty means the device's default.
//
// +kubebuilder:validation:Enum="";ACCEPT;REJECT;DROP
type ZonePolicy string

// ICMPType is OpenWRT's name of an ICMP message type.
//
// +kubebuilder:validation:Enum=address-mask-reply;address-mask-request;any;communication-prohibited;destination-unreachable;echo-reply;echo-request;fragmentation-needed;host-precedence-violation;host-prohibited;host-redirect;host-unknown;host-unreachable;ip-header-bad;network-prohibited;network-redirect;network-unknown;network-unreachable;parameter-problem;ping;pong;port-unreachable;precedence-cutoff;protocol-unreachable;redirect;required-option-missing;router-advertisement;router-solicitation;source-quench;source-route-failed;time-exceeded;timestamp-reply;timestamp-request;TOS-host-redirect;TOS-host-unreachable;TOS-network-redirect;TOS-network-unreachable;ttl-exceeded;ttl-zero-during-reassembly;ttl-zero-during-transit
type ICMPType string

// Reference is the name of another object: metadata.name of an object in the same namespace, or the name of a manually
// configured section of the device. Empty means unset.
//
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:XValidation:rule="self.matches('^([A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?)?$')",message="must consist of letters, digits, _, - or ., and must not start or end with - or ."
type Reference string

// Zone is a Reference to a firewall zone. Zone names on the device have at most 11 characters; the names of FirewallZones are
// shortened. A longer name that is not valid for a FirewallZone, because it contains capital letters or underscores, cannot
// exist.
//
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:XValidation:rule="self.matches('^([A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?)?$')",message="must be the name of a zone: letters, digits, _, - or ., not starting or ending with - or ."
// +kubebuilder:validation:XValidation:rule="size(self) <= 11 || self.matches('^[a-z0-9.-]*$')",message="cannot be the name of a FirewallZone, and other zones of the device have at most 11 characters"
type Zone string

// Interface is an interface of the CNF such as net1, #default for the interface of the default route, or # and an address for
// the interface with that address. Empty means unset.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="self.matches('^(#default|#([0-9]{1,3}[.]){3}[0-9]{1,3}|[A-Za-z0-9_][A-Za-z0-9_.@:-]*)?$')",message="must be an interface such as net1, #default, or # and an IPv4 address"
type Interface string

// NATInterface is an interface of the CNF such as net1, #default for the interface of the default route, or #source for the
// interface with the address src_dip. Empty means unset.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="self.matches('^(#default|#source|[A-Za-z0-9_][A-Za-z0-9_.@:-]*)?$')",message="must be an interface such as net1, #default or #source"
type NATInterface string

// Domain is a DNS name. Empty means unset. The device uses names in commands without validation.
//
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:XValidation:rule="self.matches('^([A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?([.][A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*[.]?)?$')",message="must be a DNS name or an IPv4 address"
type Domain string
