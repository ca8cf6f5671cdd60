// Package policygen generates clusters for tests: pods, namespaces, nodes and NetworkPolicies that together use every
// clause of the API, on request cluster-wide policies and Services with their EndpointSlices, small changes to them, and
// the flows worth testing.
//
// Everything follows from a seed, so a failure can be repeated. Labels, ports and addresses come from small alphabets:
// selectors match, names clash, blocks overlap and addresses are reused.
//
// Workload and Services are different: large regular clusters whose numbers can be compared from run to run and between
// systems.
package policygen
