// Package explain describes one object: the rules of a policy and the pods that it selects, what a pod can reach and by which rules, where a
// Service sends connections, and what an SD-WAN object configures.
package explain
