// Package connections answers which connections are allowed: all of them, between workloads, and between workloads and addresses outside.
//
// Ends of connections, workloads or single pods, that allow the same with all others form a Group, and so do addresses outside. What
// passes is listed from group to group, so that the list is complete and its length is that of what policies distinguish. Lines makes
// text of it, and WriteCSV, WriteDOT and WriteSVG write it as a table and as pictures.
package connections
