package certs

import (
	"crypto/tls"
	"fmt"
	"sync"
	"time"
)

// How long a certificate lasts that is made and kept nowhere, and when the next one is made.
const (
	selfValidity = 90 * 24 * time.Hour
	selfRenewal  = selfValidity / 3 // before its end
)

// Self makes certificates that nobody is told to trust. What is said over them cannot be read on its way; who answers is not
// proved. NewSelf makes one.
type Self struct {
	names []string

	mu   sync.Mutex
	pair *tls.Certificate
}

// NewSelf makes a Self for DNS names, at least one.
func NewSelf(names ...string) *Self { return &Self{names: names} }

// Certificate is the one to serve now. It is made when it is asked for, and made anew a month before it ends.
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
