// Package authority signs certificates by a certificate authority whose key exists in memory only: for the admission webhook, for a gateway
// that somebody runs for themselves, and for what is simulated.
package authority
