package wire

import (
	"bytes"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// magic begins an object in its envelope, a runtime.Unknown.
const magic = "k8s\x00"

// The fields of runtime.Unknown and of the TypeMeta in it.
const (
	unknownType = 1
	unknownRaw  = 2

	typeVersion = 1
	typeKind    = 2
)

// The parts of objects, with the numbers of generated.proto.
var (
	// managed is the ObjectMeta of most kinds. 17 is managedFields.
	managed = &message{keep: allBut(17)}
	plain   = &message{keep: allBut(), into: map[protowire.Number]*message{1: managed}}

	// container is a Container: name, ports, restartPolicy.
	container = &message{keep: only(1, 6, 24)}
	pod       = &message{keep: only(1, 2, 3), into: map[protowire.Number]*message{
		// name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, labels, annotations, ownerReferences
		1: {keep: only(1, 3, 5, 6, 8, 9, 11, 12, 13)},
		// containers, nodeName, hostNetwork, initContainers, readinessGates
		2: {keep: only(2, 10, 11, 20, 28), into: map[protowire.Number]*message{2: container, 20: container}},
		// phase, conditions, podIP, containerStatuses, podIPs
		3: {keep: only(1, 2, 6, 8, 12), into: map[protowire.Number]*message{
			2: {keep: only(1, 2)}, // type, status
			8: {keep: only(1, 5)}, // name, restartCount
		}},
	}}
	node = &message{keep: allBut(), into: map[protowire.Number]*message{
		1: managed,
		3: {keep: only(5)}, // addresses
	}}
)

// kinds are those of which something is left out. Others stay as they are.
var kinds = map[string]*message{
	"v1 Pod":                             pod,
	"v1 Node":                            node,
	"v1 Namespace":                       plain,
	"v1 Service":                         plain,
	"v1 Endpoints":                       plain,
	"discovery.k8s.io/v1 EndpointSlice":  plain,
	"networking.k8s.io/v1 NetworkPolicy": plain,

	"rbac.authorization.k8s.io/v1 RoleBinding":        plain,
	"rbac.authorization.k8s.io/v1 ClusterRoleBinding": plain,

	"meta.k8s.io/v1 PartialObjectMetadata": plain,
}

// lists has a message for the list of each kind.
var lists = func() map[string]*message {
	all := map[string]*message{}
	for kind, m := range kinds {
		all[kind+"List"] = &message{keep: allBut(), into: map[protowire.Number]*message{2: m}}
	}
	return all
}()

// enveloped is an object in its envelope, which says of which kind it is.
var enveloped = &message{rewrite: appendEnveloped}

func appendEnveloped(dst, src []byte) ([]byte, error) {
	if !bytes.HasPrefix(src, []byte(magic)) {
		return append(dst, src...), nil
	}
	dst = append(dst, magic...)
	var of *message
	return eachField(src[len(magic):], dst, func(dst []byte, n protowire.Number, f field) ([]byte, error) {
		switch {
		case n == unknownType && f.bytes:
			kind, err := kindOf(f.content())
			if err != nil {
				return nil, err
			}
			if of = kinds[kind]; strings.HasSuffix(kind, "List") {
				of = lists[kind]
			}
		case n == unknownRaw:
			return f.append(dst, of)
		}
		return f.append(dst, nil)
	})
}

// kindOf is the version and kind in a TypeMeta.
func kindOf(src []byte) (string, error) {
	var version, kind []byte
	_, err := eachField(src, nil, func(dst []byte, n protowire.Number, f field) ([]byte, error) {
		switch {
		case n == typeVersion && f.bytes:
			version = f.content()
		case n == typeKind && f.bytes:
			kind = f.content()
		}
		return dst, nil
	})
	return string(version) + " " + string(kind), err
}

// event is a metav1.WatchEvent: its object is a RawExtension, whose raw is an object in its envelope.
var event = &message{keep: allBut(), into: map[protowire.Number]*message{
	2: {keep: allBut(), into: map[protowire.Number]*message{1: enveloped}},
}}
