// Package ovntest makes a Northbound database a target under test: what the conformance contract needs to look at and to
// harm, by the same client that the backend uses.
package ovntest
