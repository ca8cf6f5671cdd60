// Package explain answers what is known about one object: what a policy was translated to and whom it concerns, what a pod can reach and
// why, where a Service sends connections, what an SD-WAN object configures.
package explain
