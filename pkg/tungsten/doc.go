// Package tungsten is the client of a Tungsten Fabric configuration server: its REST API. It knows no intents.
//
// An Object is any object of the configuration, reduced to the fields that policies and load balancers need. Diff computes the
// fields of an update.
package tungsten
