// Command kubeapi is kube-apiserver, kube-controller-manager and etcd in one program; the name that it is called by, or
// its first argument, selects one of them. Tests run it: see test/e2ekube.
//
// It is a separate module, because those programs have several hundred dependencies. `make kubeapi` builds it once.
package main
