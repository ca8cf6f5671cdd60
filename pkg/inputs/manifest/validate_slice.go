package manifest

import (
	"fmt"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/netloom/netloom/pkg/object/address"
)

// The limits of the API server for one slice.
const (
	maxSliceEndpoints    = 1000
	maxEndpointAddresses = 100
)

func validateSlice(s *discoveryv1.EndpointSlice) field.ErrorList {
	faults := validateMeta(&s.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	faults = append(faults, validateAddressType(s.AddressType, field.NewPath("addressType"))...)
	endpoints := field.NewPath("endpoints")
	if len(s.Endpoints) > maxSliceEndpoints {
		return append(faults, field.TooMany(endpoints, len(s.Endpoints), maxSliceEndpoints))
	}
	for i := range s.Endpoints {
		faults = append(faults, validateEndpoint(&s.Endpoints[i], s.AddressType, endpoints.Index(i))...)
	}
	names := map[string]bool{}
	for i := range s.Ports {
		p, at := &s.Ports[i], field.NewPath("ports").Index(i)
		if p.Name != nil {
			faults = append(faults, validateSlicePortName(*p.Name, names, at.Child("name"))...)
		}
		if p.Port != nil {
			faults = append(faults, validatePortNumber(*p.Port, at.Child("port"))...)
		}
		if p.Protocol != nil {
			faults = append(faults, validateProtocol(*p.Protocol, at.Child("protocol"))...)
		}
	}
	return faults
}

func validateAddressType(t discoveryv1.AddressType, at *field.Path) field.ErrorList {
	known := []discoveryv1.AddressType{
		discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6,
	}
	switch {
	case t == "":
		return field.ErrorList{field.Required(at, "")}
	case !slices.Contains(known, t):
		return field.ErrorList{field.NotSupported(at, t, known)}
	default:
		return nil
	}
}

// validateSlicePortName validates a port's name. Two ports without one have the same.
func validateSlicePortName(name string, names map[string]bool, at *field.Path) field.ErrorList {
	var faults field.ErrorList
	if name != "" {
		for _, msg := range validation.IsDNS1123Label(name) {
			faults = append(faults, field.Invalid(at, name, msg))
		}
	}
	if names[name] {
		faults = append(faults, field.Duplicate(at, name))
	}
	names[name] = true
	return faults
}

func validateEndpoint(e *discoveryv1.Endpoint, t discoveryv1.AddressType, at *field.Path) field.ErrorList {
	var faults field.ErrorList
	addresses := at.Child("addresses")
	switch n := len(e.Addresses); {
	case n == 0:
		faults = append(faults, field.Required(addresses, "must contain at least 1 address"))
	case n > maxEndpointAddresses:
		return append(faults, field.TooMany(addresses, n, maxEndpointAddresses))
	}
	for i, a := range e.Addresses {
		faults = append(faults, validateTypedAddress(a, t, addresses.Index(i))...)
	}
	faults = append(faults, validateNodeName(e.NodeName, at.Child("nodeName"))...)
	if e.Hints == nil {
		return faults
	}
	zones, nodes := map[string]bool{}, map[string]bool{}
	for i, z := range e.Hints.ForZones {
		name := at.Child("hints", "forZones").Index(i).Child("name")
		for _, msg := range validation.IsValidLabelValue(z.Name) {
			faults = append(faults, field.Invalid(name, z.Name, msg))
		}
		faults = append(faults, once(z.Name, zones, name)...)
	}
	for i, n := range e.Hints.ForNodes {
		name := at.Child("hints", "forNodes").Index(i).Child("name")
		faults = append(faults, validateNodeName(&n.Name, name)...)
		faults = append(faults, once(n.Name, nodes, name)...)
	}
	return faults
}

// once reports a name that was there before.
func once(name string, names map[string]bool, at *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(at, "")}
	}
	if names[name] {
		return field.ErrorList{field.Duplicate(at, name)}
	}
	names[name] = true
	return nil
}

func validateTypedAddress(s string, t discoveryv1.AddressType, at *field.Path) field.ErrorList {
	if t == discoveryv1.AddressTypeFQDN {
		return validation.IsFullyQualifiedDomainName(at, s)
	}
	faults := validateUnicast(s, at)
	if a, err := address.Parse(s); err == nil && len(faults) == 0 {
		if t == discoveryv1.AddressTypeIPv4 && !a.Is4() || t == discoveryv1.AddressTypeIPv6 && a.Is4() {
			faults = append(faults, field.Invalid(at, s, fmt.Sprintf("must be an %s address", t)))
		}
	}
	return faults
}

// validateUnicast validates an address that traffic is sent to.
func validateUnicast(s string, at *field.Path) field.ErrorList {
	if faults := validateAddress(s, at); len(faults) > 0 {
		return faults
	}
	a, err := address.Parse(s)
	switch {
	case err != nil:
		return nil // reported above
	case a.IsUnspecified():
		return field.ErrorList{field.Invalid(at, s, "may not be unspecified (0.0.0.0 or ::)")}
	case a.IsLoopback():
		return field.ErrorList{field.Invalid(at, s, "may not be in the loopback range (127.0.0.0/8, ::1/128)")}
	case a.IsLinkLocalUnicast():
		return field.ErrorList{field.Invalid(at, s, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")}
	case a.IsLinkLocalMulticast():
		return field.ErrorList{
			field.Invalid(at, s, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
		}
	default:
		return nil
	}
}

// validateNodeName validates the name of a node; nil names none.
func validateNodeName(name *string, at *field.Path) field.ErrorList {
	var faults field.ErrorList
	if name != nil {
		for _, msg := range apivalidation.NameIsDNSSubdomain(*name, false) {
			faults = append(faults, field.Invalid(at, *name, msg))
		}
	}
	return faults
}

func validatePortNumber(port int32, at *field.Path) field.ErrorList {
	var faults field.ErrorList
	for _, msg := range validation.IsValidPortNum(int(port)) {
		faults = append(faults, field.Invalid(at, port, msg))
	}
	return faults
}
