// Package e2ekube judges the netloom binary in a cluster: against a real API server with the controllers that make and
// unmake objects, and a real OVN. It runs as deploy/ says, from the rendered manifests: with their flags, their service
// account and its rights, their user, and nothing else in its file system.
//
//	make e2e-kube
//	go test -C test/e2ekube -tags e2e -run TestPolicies -kubeapi ../../.cache/kubeapi-…/kubeapi ./...
//
// It is a module of its own, because it renders with the code of kustomize and Helm.
package e2ekube
