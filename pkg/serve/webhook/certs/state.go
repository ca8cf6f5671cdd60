package certs

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Keys of the Secret. Those of the serving pair are the usual ones, so that others can read it too.
const (
	keyAuthorities = "ca.crt" // all that are to be trusted
	keyNextCert    = "next.crt"
	keyNextKey     = "next.key"
	keyNextFrom    = "next.from" // when the next pair may be served, as RFC 3339
)

// state is the content of the Secret.
type state struct {
	authorities []byte
	serving     pair
	next        pair      // empty unless a renewal is under way
	nextFrom    time.Time // zero unless one is
}

func stateOf(data map[string][]byte) state {
	s := state{
		authorities: data[keyAuthorities],
		serving:     pair{data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey]},
	}
	if from, err := time.Parse(time.RFC3339, string(data[keyNextFrom])); err == nil {
		s.next, s.nextFrom = pair{data[keyNextCert], data[keyNextKey]}, from
	}
	return s
}

func (s *state) data() map[string][]byte {
	data := map[string][]byte{
		keyAuthorities: s.authorities, corev1.TLSCertKey: s.serving.cert, corev1.TLSPrivateKeyKey: s.serving.key,
	}
	if !s.nextFrom.IsZero() {
		data[keyNextCert], data[keyNextKey] = s.next.cert, s.next.key
		data[keyNextFrom] = []byte(s.nextFrom.UTC().Format(time.RFC3339))
	}
	return data
}

// step takes the next step of a renewal, if one is due, and describes it; "" for none. trusted is true if the API server
// has been configured with the authorities of s.
func (o *Options) step(s *state, now time.Time, trusted bool) (done string, err error) {
	if ended := len(unexpired(s.authorities, now)) < len(s.authorities); ended {
		s.authorities = unexpired(s.authorities, now)
		done = "removed an expired authority"
	}
	nextGood := !s.nextFrom.IsZero() && s.next.check(s.authorities, o.Names, now) == nil
	good, fault := true, ""
	if err := s.serving.check(s.authorities, o.Names, now); err != nil {
		good, fault = false, err.Error()
	}
	switch {
	case nextGood && (!good || trusted && !now.Before(s.nextFrom)):
		s.serving, s.next, s.nextFrom = s.next, pair{}, time.Time{}
		return "serving with the renewed certificate", nil
	case !good:
		s.serving, err = s.add(o, now)
		s.next, s.nextFrom = pair{}, time.Time{}
		return "made a certificate: " + fault, err
	case !nextGood && s.serving.end().Sub(now) < o.RenewBefore:
		s.next, err = s.add(o, now)
		s.nextFrom = now.Add(o.Overlap)
		return "made a certificate that will be served once its authority is trusted", err
	}
	return done, nil
}

// add makes a pair and trusts its authority in addition to the trusted ones.
func (s *state) add(o *Options, now time.Time) (pair, error) {
	p, ca, err := newPair(o.Names, now, o.Validity)
	if err != nil {
		return pair{}, err
	}
	s.authorities = append(unexpired(s.authorities, now), ca...)
	return p, nil
}
