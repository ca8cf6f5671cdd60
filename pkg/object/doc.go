// Package object identifies objects, and describes what is wrong with them.
//
// A Key names an endpoint in one of several clusters, a Ref an object of one cluster, and a Problem an error with the
// place where it was found. All three are comparable, so that they can be keys of maps, and ordered.
package object
