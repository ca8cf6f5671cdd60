package bucket

import (
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
)

// serviceAccountPrefix starts the name that a service account has as a user.
const serviceAccountPrefix = "system:serviceaccount:"

// Grants holds the roles and bindings of a cluster. NewGrants makes one. All methods are safe for concurrent use.
type Grants struct {
	policy Policy

	mu        sync.RWMutex
	roles     map[name]permissions // those whose annotation can be read
	bindings  map[name]binding
	bySubject map[subject]map[name]bool // bindings by subject
}

// name is the name of a role or binding; namespace is "" for a ClusterRole and a ClusterRoleBinding.
type name struct{ namespace, name string }

// binding gives a role to subjects.
type binding struct {
	role     name
	subjects []subject
}

// subject is a user or a group. A service account is the user that it acts as.
type subject struct {
	group bool
	name  string
}

// NewGrants makes Grants without roles: only users that the policy exempts may write objects in a bucket.
func NewGrants(policy Policy) *Grants {
	return &Grants{
		policy: policy,
		roles:  map[name]permissions{}, bindings: map[name]binding{}, bySubject: map[subject]map[name]bool{},
	}
}

// PutRole stores what the annotations of a role grant; namespace is "" for a ClusterRole. An annotation that cannot be read
// grants nothing, even if an earlier one could be, and is an error that names the field.
func (g *Grants) PutRole(namespace, role string, annotations map[string]string) error {
	p, err := parsePermissions(annotations)
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(p) == 0 {
		delete(g.roles, name{namespace, role})
		return err
	}
	g.roles[name{namespace, role}] = p
	return nil
}

// RemoveRole removes a role; namespace is "" for a ClusterRole.
func (g *Grants) RemoveRole(namespace, role string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.roles, name{namespace, role})
}

// PutBinding stores a RoleBinding, or a ClusterRoleBinding if namespace is "".
func (g *Grants) PutBinding(namespace, bindingName string, role rbacv1.RoleRef, subjects []rbacv1.Subject) {
	key := name{namespace, bindingName}
	b := binding{role: name{"", role.Name}}
	if role.Kind == "Role" {
		b.role.namespace = namespace
	}
	for i := range subjects {
		if s, ok := subjectOf(&subjects[i], namespace); ok {
			b.subjects = append(b.subjects, s)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unbind(key)
	if b.role.namespace == "" && role.Kind != "ClusterRole" {
		return // it names no role, or a Role without a namespace
	}
	g.bindings[key] = b
	for _, s := range b.subjects {
		if g.bySubject[s] == nil {
			g.bySubject[s] = map[name]bool{}
		}
		g.bySubject[s][key] = true
	}
}

// RemoveBinding removes a RoleBinding, or a ClusterRoleBinding if namespace is "".
func (g *Grants) RemoveBinding(namespace, bindingName string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unbind(name{namespace, bindingName})
}

// unbind removes a binding. The caller holds the lock.
func (g *Grants) unbind(key name) {
	for _, s := range g.bindings[key].subjects {
		delete(g.bySubject[s], key)
		if len(g.bySubject[s]) == 0 {
			delete(g.bySubject, s)
		}
	}
	delete(g.bindings, key)
}

// subjectOf reads a subject as RBAC does: a service account without a namespace is in the binding's.
func subjectOf(s *rbacv1.Subject, namespace string) (subject, bool) {
	switch s.Kind {
	case rbacv1.UserKind:
		return subject{name: s.Name}, true
	case rbacv1.GroupKind:
		return subject{group: true, name: s.Name}, true
	case rbacv1.ServiceAccountKind:
		if s.Namespace != "" {
			namespace = s.Namespace
		}
		if namespace == "" {
			return subject{}, false
		}
		return subject{name: serviceAccountPrefix + namespace + ":" + s.Name}, true
	default:
		return subject{}, false
	}
}
