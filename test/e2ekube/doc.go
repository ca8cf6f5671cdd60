// Package e2ekube tests the netloom binary in a cluster: with a real API server and the controllers that create and
// delete objects, and a real OVN. It runs as in deploy/, from the rendered manifests: with their flags, their service
// account and its permissions, their user, and nothing else in its file system.
//
//	make e2e-kube
//	go test -C test/e2ekube -tags e2e -run TestPolicies -kubeapi ../../.cache/kubeapi-…/kubeapi ./...
//
// It is a separate module, because it renders with the code of kustomize and Helm.
package e2ekube
