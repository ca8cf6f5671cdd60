// Package webhook answers the admission reviews of a Kubernetes API server.
//
// It keeps what reviews are judged by, as sources deliver it, and asks the API nothing while it judges. What a review needs
// and is not listed yet makes the answer an error, so that the API server does what the failurePolicy says: it refuses, where
// permissions are concerned. Judging itself is done by the rooms below: bucket, consistency and advice.
//
// The paths are part of the contract with ValidatingWebhookConfigurations; docs/admission.md says what each is for.
package webhook
