// Package review asks a Kubernetes API who a token belongs to (TokenReview) and what a user may do (SubjectAccessReview), and caches
// the answers.
//
// Answers are cached for a short time, negative ones for less than positive ones, in a limited number of entries and bytes. Requests
// that need the same answer at the same time share one review. An error is never cached, nor is an answer that the API could not
// work out. No token is stored, only its digest under a key that is known to this process alone.
package review
