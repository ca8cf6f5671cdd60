// Package advice foresees what a NetworkPolicy would do, and tells what its author may not have meant.
//
// It keeps a translator with the pods and namespaces of a cluster, puts the policy into it, looks at what comes out, and takes
// it out again. So what it says of selectors, ports and blocks is what netloom would do of them, and costs what one change of
// a policy costs. Nothing it says is a fault: what selects nobody now may do so tomorrow.
package advice
