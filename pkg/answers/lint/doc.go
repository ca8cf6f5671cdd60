// Package lint finds probable mistakes in NetworkPolicies and cluster-wide policies. What it finds is no fault: netloom enforces
// the policies as they are written.
//
// Rules lists what it looks for. A Checker judges single policies against the pods, namespaces and policies of a cluster, at the cost
// of two policy changes and a limited number of comparisons, and serves the admission webhook. Run judges a whole cluster: all policies, what several of them do together, and
// what none of them does. Both use the same rules. Authors accept a finding by an Ignore with a reason.
//
// All findings are about one moment: what selects no pods now may do so tomorrow.
//
// The package is pure: no clock, no I/O, no log and no goroutine. What exceeds its limits is reported as not examined.
package lint
