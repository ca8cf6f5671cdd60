// Package webhook answers the admission reviews of a Kubernetes API server.
//
// It keeps the objects needed for reviews, as sources deliver them, and sends no requests to the API during a review. If a
// kind that a review needs has not been listed yet, the response is an error, so that the API server applies the
// failurePolicy: it refuses, for permissions. The decisions are made by the packages below: bucket, consistency and advice.
//
// The paths are part of the contract with ValidatingWebhookConfigurations; docs/admission.md lists their purposes.
package webhook
