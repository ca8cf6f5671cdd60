// Package policygen makes up clusters for tests: pods, namespaces, nodes and NetworkPolicies that between them use every
// clause of the API, Services with their EndpointSlices where they are asked for, small changes to them, and the flows
// worth asking about.
//
// Everything follows from a seed, so a failure is repeated by its number. Labels, ports and addresses come from small
// alphabets: selectors hit, names clash, blocks overlap and addresses are used again.
//
// Workload and Services are something else: large regular clusters whose numbers can be compared from run to run and
// between systems.
package policygen
