// Package ovntest makes a Northbound database a target under test: it has what the contract needs to inspect and damage
// the database, through the same client that the backend uses.
package ovntest
