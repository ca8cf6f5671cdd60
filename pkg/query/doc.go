// Package query answers what people ask of network policies: why is this connection dropped, who may reach this pod,
// what did this policy become, does a change keep what is promised.
//
// An answer is a pure function of a State: a snapshot, and the objects that it was made from. Whether those come from a
// directory or from a running daemon makes no difference. An Inventory of a State knows who is where; its methods are
// the questions, one file for each. Answers are plain data with JSON names that stay.
package query
