// Package auth authenticates and authorizes HTTP requests with a Kubernetes API.
//
// A TokenReview authenticates the bearer token of a request. A SubjectAccessReview authorizes its user for the path, as a
// non-resource URL, and the method as verb. So a ClusterRole with nonResourceURLs grants access to paths, as it does for the
// API server itself.
//
// Results are cached, see package review. If a review fails, the request is rejected.
package auth
