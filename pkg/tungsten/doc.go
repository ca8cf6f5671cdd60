// Package tungsten is the client of the configuration servers of a Tungsten Fabric controller: their REST API. It knows no intents.
//
// An Object is any object of the configuration, reduced to the fields that policies and load balancers need; Diff computes the
// fields of an update. A Client does nothing in the background. It sends a request to the server that answered last, and to the
// others when that one refuses connections or says that it is unavailable.
//
// # What the API does not do
//
// It has no transactions and no optimistic locking: the last writer of a field wins. Its set-tag loses concurrent updates, so the
// client changes single references with ref-update, which does not.
//
// It deletes no object that others refer to, see IsReferenced; but when a reference is added at that moment, both succeed, and the
// reference dangles, see Ref.Dangling.
//
// It answers in plain text when it refuses something: questions such as IsNotFound and IsConflict tell the refusals apart. A write
// whose answer was lost is ErrUnknownOutcome: it may have been done. A write that was only stored as a draft is an error as well,
// see IsDraft.
//
// It ignores fields and filters that it does not know.
package tungsten
