// Package manifest is the source that reads a directory of manifests, or a single file.
//
// Directory reads every *.yaml, *.yml and *.json file below a directory, follows symbolic links and ignores everything
// whose name starts with a dot, so a mounted ConfigMap or Secret reads as the files in it. Files contain any number of
// documents and lists. Kinds that netloom does not know are ignored.
//
// What the API server would do with the manifests is done here: fields unknown to the type and fields given twice are
// faults, values are validated, defaults are filled in; SD-WAN resources are validated by the definitions in deploy/crds,
// where "" means the default, and manifests of the older group sdewan.akraino.org are read as those of the newer. Beyond
// that, a namespace that objects live in but no manifest declares exists with the one label that the API server sets,
// kubernetes.io/metadata.name; a pod with an address and no phase is running, and a running one is ready, unless it says
// otherwise; and a file's documents are numbered from 1. Nothing is allocated: a service without a cluster IP has none, and
// one without node ports neither.
//
// With EndpointsAuto the Endpoints of a service count as long as no slice in force is labelled with its name. Kinds that
// the options leave out are ignored like kinds that netloom does not know.
//
// A fault costs the document it is in and no other. The object keeps the version that was in force before, when there
// was one, until the document is repaired or removed:
//
//   - A document whose kind, namespace and name can be read retains the previous version of that object.
//   - A document that cannot be read that far, such as a half-written one, retains every object of its file that no
//     document declares any more, since any of them may be what it is about. So does a file that declares nothing
//     any more: empty, blank, comments, null, a list without items.
//   - A file that contains less than before, by size, last line break or declared objects, may be only half written: the
//     version before stays until the file has not changed for half a second.
//   - A file is UTF-8, or UTF-16 with a byte order mark. One in any other encoding cannot be read that far either.
//   - A file or directory that cannot be read retains everything it declared before.
//   - Of two documents that declare one object the one in force stays in force, at the start the first by path.
//
// None of this survives a restart. A faulty policy of which no good version was in force since the start gets a stand-in,
// lest its pods open: the stand-in isolates the pods that the document selects, or every pod of its namespace where that
// cannot be read, and allows nothing. Any other faulty document, and one of which not even kind, namespace and name can be
// read, declares nothing then. Services and slices get no stand-in: without them nothing opens.
//
// # Secrets
//
// Secrets in manifests are not delivered: Directory returns them by name. Neither they nor fields of SD-WAN resources that
// are secret appear in a Problem or in what Write exports.
package manifest
