// Package query answers users' questions about network policies: why is this connection denied, what can reach this pod,
// what was this policy translated to, which connections does a change affect.
//
// An answer is a pure function of a State: a snapshot, and the objects that it was translated from, whether they come from a
// directory or from a running daemon. An Inventory finds pods, Services, nodes and addresses in a State; its methods are the
// questions, one file for each. Answers are plain data with stable JSON names.
package query
