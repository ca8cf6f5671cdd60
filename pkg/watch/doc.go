// Package watch is where cluster objects come from: a Kubernetes API or a directory of manifests.
//
// Both are a Source. A source keeps the current objects and says which of them may have changed; it never says how. Its
// reader waits on Wake, takes the dirty references with Drain and asks Get for what they are now. Nothing is queued: a
// reader that was away for an hour finds each changed object once, in its present state.
//
// Objects are typed (*networkingv1.NetworkPolicy, *corev1.Pod, *corev1.Namespace, *corev1.Node, *corev1.Service,
// *discoveryv1.EndpointSlice, and the SD-WAN kinds of pkg/apis/sdewan/v1alpha1), trimmed to what netloom looks at, shared and
// read-only. Resource versions are kept, but a
// change that touches nothing of what is kept, such as a heartbeat, is not reported.
//
// # Endpoints
//
// Whose addresses are behind a service is read from EndpointSlices or from the older core/v1 Endpoints, and delivered as
// EndpointSlices in either case, never from both for one service. Endpoints become one slice for each of their subsets
// and address families, named endpoints/NAME/SUBSET-FAMILY, such as endpoints/web/0-ipv4: a name that no object of a
// cluster can have. It carries the labels of the Endpoints, kubernetes.io/service-name, and as
// endpointslice.kubernetes.io/managed-by the value endpoints.netloom.io. Addresses that are not ready are in it, neither
// ready nor serving, since only the Service says whether that matters. Zones and hints there are none.
//
// # SD-WAN
//
// SD-WAN resources keep their spec, status and metadata, but for who wrote which field. From an API they are read through
// the dynamic client, from directories in any case. Manifests of the older group sdewan.akraino.org are read as those of
// the newer. Of pods that are CNFs, which the label sdewanPurpose says, more is kept than of others: networks,
// readiness, restarts, controller and whether they are going.
//
// # Secrets
//
// Secrets are no objects of a source. Who needs one asks for it by name (Secrets): an API through SecretReader, a
// directory itself. What is in them, or stands in fields of SD-WAN resources that are secret, is in no Problem and not
// among what Manifests spells.
//
// # Kubernetes
//
// Kubernetes lists and watches through client-go informers and reads from their stores. A resource that cannot be listed
// or watched is a Problem until it can be again; what was known of it stays meanwhile.
//
// A kind of services or of SD-WAN that an API refuses from the start, because the right is missing or the kind, is
// withheld until it can be read: the source syncs without it. All other kinds hold it back.
//
// With EndpointsAuto it lists EndpointSlices once before it watches anything of the two. Where the API has none (404, or
// 403 and discovery does not know discovery.k8s.io/v1 either) it reads Endpoints, until it is restarted. Any other error
// is a Problem and tried for ever; unless it is a refusal, the source does not sync before.
//
// # Directory
//
// Directory reads every *.yaml, *.yml and *.json file below a directory, follows symbolic links and ignores everything
// whose name starts with a dot, so a mounted ConfigMap or Secret reads as the files in it. Files hold any number of
// documents and lists. Kinds that netloom does not know are passed over.
//
// What the API server would do with the manifests is done here: fields unknown to the type and fields given twice are
// faults, values are validated, defaults are filled in; SD-WAN resources are held against the definitions in deploy/crds,
// where "" means the default. Beyond that, a namespace that objects live in but no manifest
// declares exists with the one label the API server gives it, kubernetes.io/metadata.name; a pod with an address and no
// phase runs, and one that runs is ready, where it does not say; and a file's documents are numbered from 1. Nothing is allocated: a service without a cluster IP has none,
// and one without node ports neither.
//
// With EndpointsAuto the Endpoints of a service count as long as no slice in force is labelled with its name. Kinds that
// are not to be read, by the options, are passed over like kinds that netloom does not know.
//
// A fault costs the document it is in and no other. The object keeps the version that was in force before, when there
// was one, until the document is repaired or removed:
//
//   - A document whose kind, namespace and name can be read holds the previous version of that object.
//   - A document that cannot be read that far, such as a half-written one, holds every object of its file that no
//     document declares any more, since any of them may be what it is about. So does a file that declares nothing
//     any more: empty, blank, comments, null, a list without items.
//   - A file that says less than before, by size, last line break or declared objects, may be half of what is being written:
//     the version before stays until the file has stayed as it is for half a second.
//   - A file is UTF-8, or UTF-16 with a byte order mark. One in any other encoding cannot be read that far either.
//   - A file or directory that cannot be read holds all it gave before.
//   - Of two documents that declare one object the one in force stays in force, at the start the first by path.
//
// None of this survives a restart. A faulty policy of which no good version was in force since the start is stood in for,
// lest its pods open: the stand-in isolates whom the document says, or every pod of its namespace where that cannot be
// read, and allows nothing. Any other faulty document, and one of which not even kind, namespace and name can be read,
// gives nothing then. No service and no slice is stood in for: without them nothing opens.
package watch
