// Package confirm finds out whether the objects that an informer holds are those of the API.
//
// A watch may be wrong without any sign of it: it continues after the database of the API server was restored from a copy, and then misses
// all events until the versions of the copy have passed that of the watch (kubernetes/kubernetes#107457). So each kind is read repeatedly,
// by a list without a resource version, which is consistent, and of at most one page: its version, the number of all objects, and the UIDs
// and versions of those on the page are compared with the objects held; the next comparison takes the next page. A difference that is found
// twice, and is not a change in transit, makes the informer list the kind again.
package confirm
