// Package bench measures netloom from objects to committed rows, compared with writing the same rows directly.
//
// The workloads are W(n) of policygen, 20 namespaces, n pods, n/5 policies, and n Services of 5 endpoints. What must
// never get worse is a test: how many rows and transactions a workload takes, that a changed label writes no ACL, and
// that an endpoint is one row of one transaction, however many Services there are. What depends on the machine is a
// benchmark and a ratio.
package bench
