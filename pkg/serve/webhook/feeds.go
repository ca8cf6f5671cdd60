package webhook

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/serve/webhook/advice"
	"github.com/netloom/netloom/pkg/serve/webhook/consistency"
)

// needs returns the kinds of objects that reviews of each path need.
func (o *Options) needs() map[string][]string {
	needs := map[string][]string{PathBucket: {"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"}}
	if o.Checks[consistency.Dependencies] != Off {
		needs[PathObject] = consistency.Kinds()
	}
	if o.Checks[consistency.DuplicateCNF] != Off {
		needs[PathWorkload] = []string{"Deployment", "StatefulSet", "DaemonSet"}
	}
	if o.Advice != nil {
		needs[PathPolicy] = advice.Kinds()
	}
	return needs
}

// Kinds lists the kinds of objects that reviews need. The sources of New have to read them.
func (o *Options) Kinds() []string {
	var all []string
	for _, kinds := range o.needs() {
		all = append(all, kinds...)
	}
	return all
}

// connect makes the feeds of kinds, each from the first source that reads it.
func connect(kinds []string, sources []Source) ([]*feed, error) {
	var feeds []*feed
	for _, kind := range kinds {
		f, err := newFeed(kind, sources)
		if err != nil {
			return nil, err
		}
		feeds = append(feeds, f)
	}
	return feeds, nil
}

func newFeed(kind string, sources []Source) (*feed, error) {
	r, _ := source.ResourceOf(kind)
	for _, from := range sources {
		if from.Reads(kind) {
			return &feed{Resource: r, from: from, optional: r.SDWAN || object.IsPolicy(kind)}, nil
		}
	}
	return nil, fmt.Errorf("no source of admission reviews reads %s", kind)
}

// update stores the present state of an object.
func (s *Server) update(from Source, ref object.Ref) {
	o, _ := from.Get(ref)
	m, ok := o.(metav1.Object)
	if !ok {
		s.remove(ref)
		return
	}
	var err error
	switch o := m.(type) {
	case *rbacv1.RoleBinding:
		s.grants.PutBinding(o.Namespace, o.Name, o.RoleRef, o.Subjects)
	case *rbacv1.ClusterRoleBinding:
		s.grants.PutBinding("", o.Name, o.RoleRef, o.Subjects)
	default:
		switch ref.Kind {
		case "Role", "ClusterRole":
			err = s.grants.PutRole(ref.Namespace, ref.Name, m.GetAnnotations())
		case "Deployment", "StatefulSet", "DaemonSet":
			s.index.PutWorkload(ref.Kind, m)
		default:
			if slices.Contains(advice.Kinds(), ref.Kind) {
				err = s.adviser.Put(ref.Kind, m)
			} else {
				s.index.Put(ref.Kind, m)
			}
		}
	}
	if err != nil {
		s.log.WithError(err).WithField("object", ref.String()).Warn("ignoring an object")
	}
}

// remove removes an object.
func (s *Server) remove(ref object.Ref) {
	switch ref.Kind {
	case "Role", "ClusterRole":
		s.grants.RemoveRole(ref.Namespace, ref.Name)
	case "RoleBinding", "ClusterRoleBinding":
		s.grants.RemoveBinding(ref.Namespace, ref.Name)
	default:
		if slices.Contains(advice.Kinds(), ref.Kind) {
			s.adviser.Remove(ref)
		} else {
			s.index.Remove(ref)
		}
	}
}
