// Package credential obtains the credentials that UpstreamClusters refer to, and obtains them again when they change or expire: those of
// a user in the operator's kubeconfig file, whose plugins it runs, and those in Secrets. It renews tokens of service accounts.
//
// Nothing here waits for a cluster, a file or a plugin of another one. Credentials that were obtained stay in use while newer ones
// cannot be.
package credential
