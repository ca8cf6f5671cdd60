// Package certs keeps the certificate that a webhook serves with, from files or by itself.
//
// Files reads a certificate and key that somebody else renews, such as cert-manager, and looks again at each handshake
// whether they changed.
//
// Managed makes certificates and keeps them in a Secret. Every pair has a certificate authority of its own, whose key is
// forgotten at once, so nothing can be forged with what the Secret holds. A new pair is made well before the old one ends, and
// goes through two steps: first its authority is added to those that the API server trusts, beside the old one; some time
// later it is served. So there is no moment in which the API server refuses what is served.
//
// Any number of replicas may do this at once. All take their steps from the Secret alone, and write it on the condition that
// it is as they read it: who comes second takes what the first one wrote. The Secret is known as netloom's own by its label
// app.kubernetes.io/managed-by; one without it is not touched.
package certs
