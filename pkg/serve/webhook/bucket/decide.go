package bucket

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
)

// Policy is what applies regardless of roles.
type Policy struct {
	ExemptUsers  []string // may write every bucket
	ExemptGroups []string // so may their members
	// DefaultBucket is the bucket of objects without the label; "" lets everyone write them.
	DefaultBucket string
}

// DefaultExemptGroups lists those that RBAC does not restrict either.
func DefaultExemptGroups() []string { return []string{"system:masters"} }

// DefaultExemptUsers lists the controllers of Kubernetes that delete dependents of what was deleted, or rewrite stored
// objects. If they were refused, namespaces and owned objects would never go.
func DefaultExemptUsers() []string {
	return []string{
		"system:kube-controller-manager", // if controllers have no accounts of their own
		"system:serviceaccount:kube-system:generic-garbage-collector",
		"system:serviceaccount:kube-system:namespace-controller",
		"system:serviceaccount:kube-system:storage-version-migrator-controller",
	}
}

// Request is a user's request to write an object, as far as buckets are concerned.
type Request struct {
	User      string
	Groups    []string
	Resource  string // in the plural, such as mwan3rules
	Namespace string
	// Labels are those of the object: the new ones, the old ones, or both for an update. Permission for each is needed.
	Labels []map[string]string
}

// Decision is the answer to a Request. The zero value refuses.
type Decision struct {
	Allowed bool
	Why     string // for the user and for the audit log: the role, the exemption, or what is missing
}

// Denial is the message for a user, in the words of ICN SD-EWAN.
func Denial(user string) string { return fmt.Sprintf("User(%s) don't have the permission", user) }

// Decide returns whether the write of a Request is allowed, and why.
func (g *Grants) Decide(r *Request) Decision {
	if slices.Contains(g.policy.ExemptUsers, r.User) {
		return Decision{true, "user " + r.User + " is exempt"}
	}
	for _, group := range r.Groups {
		if slices.Contains(g.policy.ExemptGroups, group) {
			return Decision{true, "group " + group + " is exempt"}
		}
	}
	needed := g.policy.bucketsOf(r.Labels)
	if len(needed) == 0 {
		return Decision{true, "the object is in no bucket"}
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	d := Decision{Allowed: true}
	for _, b := range needed {
		by, ok := g.granted(r, b)
		if !ok {
			return Decision{false, fmt.Sprintf("no role grants bucket %s of %s in namespace %s", b, r.Resource, r.Namespace)}
		}
		d.Why = by
	}
	return d
}

// bucketsOf lists the buckets of labels, each once.
func (p *Policy) bucketsOf(all []map[string]string) []string {
	var buckets []string
	for _, labels := range all {
		if b := cmp.Or(labels[v1alpha1.LabelBucketType], p.DefaultBucket); b != "" && !slices.Contains(buckets, b) {
			buckets = append(buckets, b)
		}
	}
	return buckets
}

// granted returns the binding by which the user of r may write a bucket; if there are several, the first one. The caller
// holds the lock.
func (g *Grants) granted(r *Request, bucket string) (by string, ok bool) {
	try := func(s subject) {
		for key := range g.bySubject[s] {
			if key.namespace != "" && key.namespace != r.Namespace {
				continue
			}
			role := g.bindings[key].role
			if !g.roles[role].grants(r.Resource, bucket) {
				continue
			}
			if text := key.format("Binding") + " to " + role.format(""); !ok || text < by {
				by, ok = text, true
			}
		}
	}
	try(subject{name: r.User})
	for _, group := range r.Groups {
		try(subject{group: true, name: group})
	}
	return by, ok
}

// format formats n as RoleBinding ns/name, or ClusterRole name.
func (n name) format(suffix string) string {
	if n.namespace == "" {
		return "ClusterRole" + suffix + " " + n.name
	}
	return "Role" + suffix + " " + n.namespace + "/" + n.name
}
