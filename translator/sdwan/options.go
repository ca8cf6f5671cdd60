package sdwan

import "fmt"

// AdoptAnnotation on an SD-WAN resource names the object, created by hand on the CNFs, that it takes over.
const AdoptAnnotation = "netloom.io/adopt"

// Options control how CNFs are found and what is done for Services. The zero value applies each object only in its
// namespace and leaves Services alone.
type Options struct {
	// ClusterWide applies an object to the CNFs of its purpose in every namespace.
	ClusterWide bool
	// ServiceRules selects the Services that are reachable at the CNFs, on their own ports.
	ServiceRules ServiceRules
	// ServicePurpose is the purpose of Services that have no label, with ServiceRulesAll; "" leaves those alone.
	ServicePurpose string
}

// ServiceRules is a choice of Services.
type ServiceRules uint8

// The choices: no Service, those with the label sdewanPurpose, or all.
const (
	ServiceRulesOff ServiceRules = iota
	ServiceRulesLabelled
	ServiceRulesAll
)

var serviceRulesNames = [...]string{"off", "labelled", "all"}

// String returns the choice as a word.
func (r ServiceRules) String() string {
	if int(r) < len(serviceRulesNames) {
		return serviceRulesNames[r]
	}
	return fmt.Sprintf("service rules %d", uint8(r))
}

// ParseServiceRules parses a choice. The empty string is off.
func ParseServiceRules(text string) (ServiceRules, error) {
	for i, n := range serviceRulesNames {
		if n == text {
			return ServiceRules(i), nil
		}
	}
	if text == "" {
		return ServiceRulesOff, nil
	}
	return ServiceRulesOff, fmt.Errorf("%q: expected off, labelled or all", text)
}
