// Package advice warns the author of a NetworkPolicy or a cluster-wide policy about probable mistakes: it has package lint judge the
// policy against the pods, namespaces and policies of the cluster, and makes warnings of what that finds.
// Findings that an annotation of the policy accepts are left out.
package advice
