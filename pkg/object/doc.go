// Package object says which object something is about, and what is wrong with it.
//
// A Key names an endpoint in any of several clusters, a Ref an object of one cluster, and a Problem a fault with the
// place that it was found in. All three are comparable, so that they can be keys of maps, and ordered.
package object
