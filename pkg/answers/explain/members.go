package explain

import (
	"net/netip"
	"slices"

	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// maxMembers is how many members of a set are listed.
const maxMembers = 20

// Members lists what a policy's selectors and blocks select.
type Members struct {
	Title    string         `json:"title"`              // such as "pods app=web in namespace shop"
	Count    int            `json:"count"`              // of pods
	Pods     []string       `json:"pods,omitempty"`     // the first maxMembers of them, as [cluster/]namespace/name
	Prefixes []netip.Prefix `json:"prefixes,omitempty"` // addresses in addition
}

// membersOf lists what is in a set; nil is everything.
func membersOf(set *intent.Set, nameOf func(object.Key) string) Members {
	m := Members{Title: world.TitleOf(set)}
	if set == nil {
		return m
	}
	m.Prefixes = set.Prefixes
	if set.Members == nil {
		return m
	}
	for e := range set.Members.All() {
		m.Pods = append(m.Pods, nameOf(e.Key))
	}
	slices.Sort(m.Pods)
	m.Pods = reach.AsWorkloads(m.Pods)
	m.Count = len(m.Pods)
	m.Pods = m.Pods[:min(len(m.Pods), maxMembers)]
	return m
}
