// Package authority signs certificates whose keys exist in memory only: for a gateway that somebody runs for themselves, and for the
// simulated API servers of the demo.
package authority
