// Package workload reads the objects that create pods, such as Deployments, and makes pods that stand for those that a cluster would
// create: with their labels and ports, names that no object can have, and made-up addresses.
//
// Pods of one workload are equal, so that two of them stand for any number: one, and the others that it talks to.
package workload
