// Package manifest is the source that reads a directory of manifests, or a single file.
//
// Directory reads every *.yaml, *.yml and *.json file below a directory, follows symbolic links and ignores every name that
// starts with a dot, so a mounted ConfigMap or Secret reads as the files in it. Files contain any number of documents and
// lists. Kinds that netloom does not know are ignored.
//
// What the API server would do with the manifests is done here: fields unknown to the type and fields given twice are
// faults, values are validated, defaults are filled in; SD-WAN resources and cluster-wide policies are validated by their
// definitions in deploy/crds, where "" means the default, and pkg/apis/clusterpolicy, and manifests of the older group
// sdewan.akraino.org are read as those of the newer. Beyond
// that, a namespace that objects live in but no manifest declares exists with the one label that the API server sets,
// kubernetes.io/metadata.name; a pod with an address and no phase is running, and a running one is ready, unless it says
// otherwise; and a file's documents are numbered from 1. Nothing is allocated: a service without a cluster IP gets none, and
// those without node ports get no node ports either.
//
// With EndpointsAuto the Endpoints of a service count as long as no slice in force has its name as a label. Kinds that the
// options exclude are ignored like kinds that netloom does not know.
//
// A fault affects only the document it is in. The object keeps the version that was in force before, if there was one,
// until the document is repaired or removed:
//
//   - A document whose kind, namespace and name can be read retains the previous version of that object.
//   - A document that cannot be read that far, such as a half-written one, retains every object of its file that no
//     document declares now, since any of them may be the one meant. So does a file that no longer declares anything:
//     empty, blank, comments, null, a list without items.
//   - A file that contains less than before, by size, last line break or declared objects, may be only half written: the
//     version before stays until the file has not changed for half a second. So may one of more than 4 KiB whose last document
//     changed.
//   - A file is UTF-8, or UTF-16 with a byte order mark. One in any other encoding cannot be read that far either.
//   - A file or directory that cannot be read retains everything it declared before.
//   - If two documents declare one object, the one in force stays in force; at the start the first by path.
//
// None of this survives a restart. A faulty policy without a good version since the start gets a stand-in, so that its
// pods are not open: the stand-in isolates the pods that the document selects, or every pod of its namespace if that
// cannot be read, and allows nothing. That of a cluster-wide policy has no rules that accept; its rules that deny or pass
// apply as far as they can be read, and deny everything otherwise, for every pod if the subject cannot be read. Any other faulty document, and one whose kind, namespace and name cannot even be read,
// then declares nothing. Services and slices get no stand-in: without them nothing opens.
//
// # Secrets
//
// Secrets in manifests are not delivered: Directory returns them by name. Neither they nor secret fields of SD-WAN
// resources appear in a Problem or in what Write exports.
package manifest
