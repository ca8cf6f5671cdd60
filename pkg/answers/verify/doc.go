// Package verify compares what the rows of a Northbound database allow with what the policies of a cluster allow, no matter which
// controller wrote the rows.
//
// It judges new TCP, UDP and SCTP connections, on every port, between pods, and between pods and addresses outside that
// policies or rows distinguish: egress where the source has a logical port in the database, ingress where the destination
// has one. Ends that neither policies nor rows distinguish form a class, and each pair of classes is judged once. Anything in the rows that
// pkg/ovsdb/nbtrace cannot evaluate makes a result unknown; it never counts as agreement.
//
// Not judged are other protocols, replies, host-network pods, nodes, and addresses of the network itself, such as those of
// routers, load balancers and the ports of nodes; and load balancing: ports are those of the pods behind a Service.
package verify
