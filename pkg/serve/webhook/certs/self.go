package certs

import (
	"crypto/tls"
	"fmt"
	"sync"
	"time"
)

// The lifetime of a certificate that is not stored, and when the next one is made.
const (
	selfValidity = 90 * 24 * time.Hour
	selfRenewal  = selfValidity / 3 // before its end
)

// Self makes certificates that clients are not set up to trust. Connections are encrypted, but the server is not
// authenticated. NewSelf makes one.
type Self struct {
	names []string

	mu   sync.Mutex
	pair *tls.Certificate
}

// NewSelf makes a Self for DNS names, at least one.
func NewSelf(names ...string) *Self { return &Self{names: names} }

// Certificate returns the one to serve now. It is made on first use, and again a month before it expires.
func (s *Self) Certificate() (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.pair != nil && now.Before(s.pair.Leaf.NotAfter.Add(-selfRenewal)) {
		return s.pair, nil
	}
	made, _, err := newPair(s.names, now, selfValidity)
	if err != nil {
		return nil, err
	}
	c, err := made.load()
	if err != nil {
		return nil, fmt.Errorf("read the certificate that was made: %w", err)
	}
	s.pair = c
	return c, nil
}
