//go:build e2e

// Package kubelab runs a private, real Kubernetes control plane for one test: etcd, kube-apiserver and
// kube-controller-manager, built from their own sources by `make kubeapi`. There is no kubelet that runs pods, no scheduler and
// no node: the creator of a pod sets its node, and patches its status.
//
// Everything listens on loopback, is in a scratch directory and ends with the test. Certificates and keys are made for
// each run. Authorization is RBAC, admission is that of a cluster, and every request is in the audit log.
//
// Lab is the control plane; Pod runs a container of a Deployment as a cluster would run it, with its service account, its
// volumes and its security context, but on the network of the test. Kubelet connects exec, attach and port-forward to what a
// test provides.
package kubelab
