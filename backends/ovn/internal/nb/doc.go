// Package nb defines the rows of an OVN Northbound database as this backend writes them: their tables and columns, names
// and UUIDs, how they differ, and the operations that turn one into the other. It knows neither policies nor load
// balancers.
package nb
