// Package bench measures netloom from objects to committed rows, beside the same rows written raw.
//
// The workload is W(n) of policygen: 20 namespaces, n pods, n/5 policies. What must never get worse is a test: how many
// rows and transactions a workload takes, and that a changed label writes no ACL. What depends on the machine is a
// benchmark and a ratio.
package bench
