// Package name reads what people type to name an object or an end of a connection. Every command, page and file uses this one parser.
//
// These forms name one object, or with a pattern several pods:
//
//	NAMESPACE/NAME             a pod, or a workload if no pod has the name
//	KIND/NAME                  in the default namespace, or in the only one that has it
//	KIND/NAMESPACE/NAME        kinds and their short names are those of kubectl
//	NAMESPACE/KIND/NAME        a workload, as answers name it
//	svc/NAMESPACE/NAME:PORT    a port of a Service, as number, name or PROTOCOL/NUMBER
//	NAME.NAMESPACE.svc         a Service, by its name in DNS
//	node/NAME                  a node; cluster-wide policies are named alike
//	ns/NAME                    all pods of a namespace
//	NAMESPACE/web-*            pods whose names match, NAMESPACE/app=web those whose labels do
//	10.0.0.1, [fd00::1]        an address
//
// The name of a cluster may come first: b/shop/db-0, b/svc/shop/db. A namespace of * means all.
package name
