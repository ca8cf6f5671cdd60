// Package advice predicts what a NetworkPolicy or a cluster-wide policy would do, and warns about what its author may not have meant.
//
// It keeps a translator with the pods and namespaces of a cluster, adds the policy, looks at the result, and removes it
// again. So its warnings about selectors, ports and blocks match what netloom would do, at the cost of one policy change.
// No warning is a fault: what selects no pods now may do so tomorrow.
package advice
