// Package watchcache answers the lists and watches of many clients from one upstream watch for each kind.
//
// Each kind has a history: the objects now, and the latest changes with the state after each. It is filled by one list and one
// watch of the whole kind, with the gateway's own identity. Requests are answered from it with the semantics that the API
// documents for resourceVersion, resourceVersionMatch, limit, continue, selectors, bookmarks and sendInitialEvents. Whatever
// the history cannot answer exactly is left to the upstream: Serve then writes nothing and returns false. That goes for
// unknown parameters and fields, for other representations (Table, metadata only, protobuf without JSON as an alternative), for
// lists of the most recent state, for versions that the history does not have, and for every request while the upstream
// watch is interrupted for longer than StaleAfter.
//
// Each request is authorized, with its selectors, before it is answered. What is not allowed is left to the upstream, too,
// whose refusal says why.
//
// What clients can rely on:
//
//   - An event has the bytes that the upstream sent. Clients of one kind see all changes in the same order, each once.
//   - A watch that begins without a version, with or without initial events, begins at a state at least as new as the request:
//     the upstream is asked for its current version, once for all who wait, and the history catches up with it first.
//   - If the upstream says that it cannot resume the watch, or its versions go backwards, the history is dropped. All
//     watches then end with 410 Expired, and clients list again, as they do when an API server restarts.
//   - Each history is compared with the upstream, about once a minute (package confirm). If it lacks an event, it is dropped, too.
//   - If the upstream watch is interrupted, it is resumed where it ended, and clients notice nothing. After StaleAfter all
//     watches end without an error, so that clients ask again and learn from the upstream how things are.
//   - A watch from a version that the history no longer has ends with 410 Expired, as from an API server with a shorter history.
//   - A client that does not read falls back to the history and ends with 410 Expired if it falls out of it; if one
//     write takes longer than WriteTimeout, its watch ends. Nobody waits for it.
//
// The k8s.io/apiserver module has a watch cache of its own (pkg/storage/cacher). It needs a storage backend, decoded
// objects of every kind, and handlers that encode them again for each client; it would add 192 packages to netloom, etcd's client
// and gRPC among them, and drop the fields that the compiled types do not have.
package watchcache
