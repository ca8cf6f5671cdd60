// Package certs provides the serving certificate of a webhook, from files or self-managed.
//
// Files reads a certificate and key that are renewed by something else, such as cert-manager, and checks them for changes
// at each handshake.
//
// Managed makes certificates and keeps them in a Secret. Every pair has a certificate authority of its own, whose key is
// discarded at once, so nothing can be forged with the content of the Secret. A new pair is made well before the old one
// expires, in two steps: first its authority is added to those that the API server trusts, next to the old one; some time
// later it is served. So the API server trusts what is served at any moment.
//
// Any number of replicas may do this at once. All take their steps from the Secret alone, and write it only if it is still
// as they read it: a replica that comes second takes what the first one wrote. The Secret is known as netloom's own by its
// label app.kubernetes.io/managed-by; one without it is not touched.
package certs
