package source

import "encoding/json"

// Undelivered is what a cluster has of kinds that no source delivers, although they may decide on connections.
type Undelivered struct {
	// Objects are in JSON, with their apiVersion, kind, name and namespace, and some with their spec. Of many objects of a kind, some may be
	// left out, but for the first of each namespace.
	Objects []json.RawMessage
	// Unlisted are the kinds that the API has and that could not be listed, sorted.
	Unlisted []Unlisted
}

// Unlisted is a kind of which it is not known whether there are objects.
type Unlisted struct {
	Group string `json:"group,omitempty"`
	Kind  string `json:"kind,omitempty"` // "" is every kind of the group; with no group either, every kind of the cluster
	Cause string `json:"cause"`          // in the words of the API
}

// String names what is not known, such as "CiliumNetworkPolicy (cilium.io)".
func (u Unlisted) String() string {
	switch {
	case u.Kind != "":
		return u.Kind + " (" + u.Group + ")"
	case u.Group != "":
		return "the kinds of " + u.Group
	default:
		return "the kinds of other projects"
	}
}
