// Package wire removes from an API server's protobuf responses the fields that netloom never keeps, before they are decoded: managed fields,
// most of a container, volumes, the images of a node. They cause half of the allocations of decoding a pod.
//
// What is left out is never more than what the source drops after it has decoded an object (Resource.Trim of pkg/inputs/source): a test
// compares the two for random objects of every kind. The formats are those of k8s.io/apimachinery/pkg/runtime/serializer/protobuf, the
// numbers of the fields those of generated.proto in k8s.io/api and k8s.io/apimachinery, which never change their meaning.
package wire
