// Package precedence finds the rules of a policy that have no effect because rules that take precedence decide first, policies of one tier
// and priority that contradict each other, and NetworkPolicies and rules that others make redundant.
//
// It judges by the pods of one snapshot: labels that change later may give a rule an effect again. What it reports is certain, but
// it does not find everything: the pods of a rule must all be among those of each single rule before it, while peers and ports may
// be covered by several together.
package precedence
