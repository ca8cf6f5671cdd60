// Command kubeapi is kube-apiserver, kube-controller-manager and etcd in one program, which does as the name that it is
// called by, or its first argument, says. Tests run it: see test/e2ekube.
//
// It is a module of its own, because those programs bring several hundred modules along. `make kubeapi` builds it once.
package main
