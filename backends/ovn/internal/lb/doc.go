// Package lb plans the rows of load balancers in an OVN Northbound database: it renders them, compares them with the model
// of what the database has, and lists the operations to get from one to the other. It reads nothing itself: rows and
// topology are passed in.
package lb
