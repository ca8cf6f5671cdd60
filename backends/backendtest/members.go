package backendtest

import (
	"iter"
	"maps"
	"net/netip"
	"slices"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Members is a plain intent.Members: endpoints by key, addresses counted.
type Members struct {
	byKey map[object.Key]intent.Endpoint
	count map[netip.Addr]int
}

// NewMembers returns a Members with these endpoints. One that is given twice counts once.
func NewMembers(endpoints ...intent.Endpoint) *Members {
	m := &Members{byKey: make(map[object.Key]intent.Endpoint), count: make(map[netip.Addr]int)}
	for _, e := range endpoints {
		if _, twice := m.byKey[e.Key]; twice {
			continue
		}
		m.byKey[e.Key] = e
		for _, a := range e.Addrs {
			m.count[a]++
		}
	}
	return m
}

// Len counts the endpoints.
func (m *Members) Len() int { return len(m.byKey) }

// All yields each endpoint once, in no particular order.
func (m *Members) All() iter.Seq[intent.Endpoint] { return maps.Values(m.byKey) }

// HasKey reports whether the endpoint k is a member.
func (m *Members) HasKey(k object.Key) bool {
	_, ok := m.byKey[k]
	return ok
}

// HasAddr reports whether some member has the address a.
func (m *Members) HasAddr(a netip.Addr) bool { return m.count[a] > 0 }

// HasSharedAddr reports whether a is among the shared addresses of some member.
func (m *Members) HasSharedAddr(a netip.Addr) bool {
	for _, e := range m.byKey {
		if slices.Contains(e.Shared, a) {
			return true
		}
	}
	return false
}
