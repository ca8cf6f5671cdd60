// Package wire leaves out of an API server's answer in protobuf what netloom keeps of no object, before anything is decoded: managed
// fields, most of a container, volumes, the images of a node. To decode these costs more than all the rest of a pod.
//
// What is left out is never more than what the source drops after it has decoded an object (Resource.Trim of pkg/inputs/source): a test
// compares the two for random objects of every kind. The formats are those of k8s.io/apimachinery/pkg/runtime/serializer/protobuf, the
// numbers of the fields those of generated.proto in k8s.io/api and k8s.io/apimachinery, which never change their meaning.
package wire
