// Package policygen makes up clusters for tests: pods, namespaces, nodes and NetworkPolicies that between them use every
// clause of the API, small changes to them, and the flows worth asking about.
//
// Everything follows from a seed, so a failure is repeated by its number. Labels, ports and addresses come from small
// alphabets: selectors hit, names clash, blocks overlap and addresses are used again.
//
// Workload is something else: one large regular cluster whose numbers can be compared from run to run and between
// systems.
package policygen
