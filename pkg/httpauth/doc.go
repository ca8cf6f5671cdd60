// Package httpauth lets requests through whose sender a Kubernetes API knows and allows to make them.
//
// Who sends a request is told by its bearer token, which a TokenReview accepts or refuses. What the sender may do is asked by
// a SubjectAccessReview of the path, as a non-resource URL, with the verb get. So a ClusterRole with nonResourceURLs says who
// may read which page, as for the API server's own.
//
// Answers are kept for a short time, and so many of them at the most. Tokens are never kept: what stands for one is a digest
// under a key that only this process knows. What cannot be found out is refused.
package httpauth
