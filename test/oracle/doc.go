// Package oracle says what a set of NetworkPolicies and Services does with a flow, by the words of the Kubernetes API
// documentation and nothing else.
//
// It is what the translator and the backends are judged against, so it shares no code with them: it imports the API
// types and the standard library, matches selectors itself, and prefers plain loops to speed. For many questions about
// one state of a cluster, Freeze it once.
//
// Where the documentation is silent, the oracle takes the reading that admits less, with these exceptions, on which
// implementations agree: a pod may always talk to itself by its own address, and pods on the host network are never the
// subject of a policy. What the API server refuses (an unknown operator, a peer with both an ipBlock and a selector, an
// endPort without a port, a CIDR that cannot be read) matches nothing.
//
// A flow to a frontend of a Service goes to one of several backends, and nobody knows to which: the verdict lists them
// all, with what the policies say of each. Where the documentation of Services is silent, kube-proxy is followed: a
// frontend needs a cluster IP of its family, endpoints that drain serve where no ready one does, hints count when every
// ready endpoint has them and one is meant. Of two Services that claim one address, port and protocol in one network,
// or in any two when it is a cluster IP or a node port of either, the older has it; an address that one Service has in two ways is what comes first of cluster IP, external IP, load
// balancer IP and node port, but its source ranges hold.
package oracle
