// Package draft makes the state that a cluster would have if some of its policies were different, without changing anything.
//
// Parse reads the policies of a text and names the lines that are wrong. Make translates only these policies, against the pods of
// a state, and puts them into a variant of its snapshot: the cost does not depend on the number of the other policies.
package draft
