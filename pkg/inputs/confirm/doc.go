// Package confirm finds out whether what an informer holds is what the API has.
//
// A watch may be wrong without a sign: it goes on after the database of the API server was restored from a copy, and then leaves
// out what happens until the versions of the copy have passed that of the watch (kubernetes/kubernetes#107457). So each kind is
// read again and again, by a list without a resource version, which is consistent, and of at most one page: its version, the
// number of all objects, and the UIDs and versions of those on the page are compared with what is held; the next comparison takes
// the next page. What differs twice, and is not a change on its way, has the informer list the kind again.
package confirm
