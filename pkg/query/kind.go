package query

import "strings"

// Kind is a kind of object that a question may name.
type Kind string

// The kinds. Their words are those of kubectl.
const (
	KindPod     Kind = "pod"
	KindPolicy  Kind = "networkpolicy"
	KindService Kind = "service"
	KindNode    Kind = "node"
	kindAddress Kind = "address"
)

// kindOf reads a kind, in any case; ok is false for any other word.
func kindOf(word string) (Kind, bool) {
	switch strings.ToLower(word) {
	case "pod", "pods", "po":
		return KindPod, true
	case "networkpolicy", "networkpolicies", "netpol", "np":
		return KindPolicy, true
	case "service", "services", "svc":
		return KindService, true
	case "node", "nodes", "no":
		return KindNode, true
	default:
		return "", false
	}
}
