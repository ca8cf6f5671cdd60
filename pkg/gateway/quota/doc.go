// Package quota divides limits among the instances of the gateway. Each writes its demand into a Lease of its own, and computes its share
// from the Leases of all: each of them computes the same shares, so no coordinator is needed. See docs/adr/0034-limits-of-all-instances.md.
package quota
