// Package lint finds probable mistakes in NetworkPolicies and cluster-wide policies. Its findings are not errors: netloom enforces the
// policies as they are written.
//
// Rules lists what it looks for. A Checker judges single policies against the pods, namespaces and policies of a cluster, at the cost
// of two policy changes and a limited number of comparisons, and serves the admission webhook. Run judges a whole cluster: all policies,
// what several of them do together, and what all of them leave open. Both use the same rules. Authors accept a finding by an Ignore with a
// reason.
//
// All findings describe one moment: a selector that matches no pods now may match some tomorrow.
//
// The package is pure: no clock, no I/O, no log and no goroutine. What exceeds its limits is reported as not examined.
package lint
