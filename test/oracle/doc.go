// Package oracle evaluates flows against a set of NetworkPolicies, cluster-wide policies and Services, following the wording
// of the Kubernetes API documentation and nothing else.
//
// The translator and the backends are tested against it, so it shares no code with them: it imports the API types and the
// standard library, matches selectors itself, and prefers plain loops to speed. For many questions about one state of a
// cluster, Freeze it once.
//
// If the documentation does not define something, the oracle uses the interpretation that admits less, with these
// exceptions, which implementations have in common: a pod may always connect to itself by its own address, and pods on
// the host network are never the subject of a policy. Anything that the API server refuses (an unknown operator, a peer
// with both an ipBlock and a selector, an endPort without a port, an invalid CIDR) matches nothing.
//
// Cluster-wide policies of one tier and priority are ordered by name, then kind; a BaselineAdminNetworkPolicy comes after all
// others of its tier. A pod's own node reaches it whatever they say. What the types say about a peer that cannot be
// understood applies to everything in a rule: one that accepts matches nothing, one that denies or passes denies everything,
// and so does one with an unknown action. If the subject or the tier cannot be understood, what the policy denies or passes
// is denied for every pod. A priority that does not exist is the nearest that does.
//
// A flow to a frontend of a Service goes to one of several backends, and which one is not known: the verdict lists them
// all, with the decision of the policies on each. If the documentation of Services does not define something, kube-proxy
// is followed: a frontend needs a cluster IP of its family, draining endpoints serve if no ready one does, hints apply if
// every ready endpoint has them and one matches. If two Services have the same address, port and protocol in one network,
// or in any two if it is a cluster IP or a node port of either, one whose cluster IP or node port it is wins, then one whose load balancer
// IP it is, and among equals the older one; if one Service has an address in two ways, the first of cluster IP, external IP, load balancer
// IP and node port applies, but its source ranges apply too, and it wins by the better of the two.
package oracle
