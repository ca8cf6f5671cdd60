//go:build e2e

package e2ekube_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// right is the least that a role can give: one verb on one resource.
type right struct {
	role, group, resource, verb string

	namespace string // of a Role; "" is a ClusterRole
	name      string // of the only object that it is for; "" is all
}

// rightsOf takes the roles of manifests apart.
func rightsOf(t *testing.T, objects []*unstructured.Unstructured) []right {
	t.Helper()
	var all []right
	for _, o := range objects {
		if o.GetKind() != "ClusterRole" && o.GetKind() != "Role" {
			continue
		}
		var role rbacv1.Role // a ClusterRole has the same fields that matter
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role))
		for _, rule := range role.Rules {
			if len(rule.NonResourceURLs) > 0 {
				continue // TestEveryRightIsAudited lists them
			}
			require.Len(t, rule.APIGroups, 1)
			all = append(all, rightsOfRule(right{role: role.Name, namespace: o.GetNamespace()}, &rule)...)
		}
	}
	require.NotEmpty(t, all)
	for _, r := range all {
		require.NotContains(t, []string{r.group, r.resource, r.verb}, "*", "role %s", r.role)
	}
	return all
}

// rightsToWork are those that netloom makes use of by itself: others it needs only when somebody asks, see TestRightsToOtherKinds.
func rightsToWork(t *testing.T, objects []*unstructured.Unstructured) []right {
	t.Helper()
	return slices.DeleteFunc(rightsOf(t, objects), func(r right) bool { return r.role == othersRole })
}

// rightsOfRule lists what a rule gives; what does not depend on it is taken from like.
func rightsOfRule(like right, rule *rbacv1.PolicyRule) []right {
	var all []right
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, like.group = range rule.APIGroups {
		for _, like.resource = range rule.Resources {
			for _, like.name = range names {
				for _, like.verb = range rule.Verbs {
					all = append(all, like)
				}
			}
		}
	}
	return all
}

func (r right) uses(request kubelab.Request) bool {
	resource := request.Resource
	if request.Subresource != "" {
		resource += "/" + request.Subresource
	}
	return request.Verb == r.verb && request.Group == r.group && resource == r.resource &&
		(r.namespace == "" || request.Namespace == r.namespace) && (r.name == "" || request.Name == r.name)
}

// without takes rights away from their roles, and nothing else, and waits until the server lets a user have them no more.
func without(t *testing.T, kube *kubelab.Lab, user string, rights ...right) (giveBack func()) {
	t.Helper()
	roles := map[[2]string][]right{}
	for _, r := range rights {
		roles[[2]string{r.namespace, r.role}] = append(roles[[2]string{r.namespace, r.role}], r)
	}
	var back []func()
	for role, gone := range roles {
		back = append(back, shrink(t, kube, role[0], role[1], gone))
	}
	await.True(t, func() bool {
		rights = slices.DeleteFunc(slices.Clone(rights), func(r right) bool { return !may(t, kube, user, r) })
		return len(rights) == 0
	}, "the server knows that rights are gone")
	return func() {
		for _, f := range back {
			f()
		}
	}
}

// shrink takes rights away from one role.
func shrink(t *testing.T, kube *kubelab.Lab, namespace, role string, gone []right) (giveBack func()) {
	t.Helper()
	kept := func(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
		var all []rbacv1.PolicyRule
		for i := range rules {
			if len(rules[i].NonResourceURLs) > 0 {
				all = append(all, rules[i])
			}
			for _, r := range rightsOfRule(right{role: role, namespace: namespace}, &rules[i]) {
				if slices.Contains(gone, r) {
					continue
				}
				rule := rbacv1.PolicyRule{APIGroups: []string{r.group}, Resources: []string{r.resource}, Verbs: []string{r.verb}}
				if r.name != "" {
					rule.ResourceNames = []string{r.name}
				}
				all = append(all, rule)
			}
		}
		return all
	}
	set := func(change func([]rbacv1.PolicyRule) []rbacv1.PolicyRule) (before []rbacv1.PolicyRule) {
		if namespace == "" {
			roles := kube.Client().RbacV1().ClusterRoles()
			o, err := roles.Get(t.Context(), role, metav1.GetOptions{})
			require.NoError(t, err)
			before, o.Rules = o.Rules, change(o.Rules)
			_, err = roles.Update(t.Context(), o, metav1.UpdateOptions{})
			require.NoError(t, err)
			return before
		}
		roles := kube.Client().RbacV1().Roles(namespace)
		o, err := roles.Get(t.Context(), role, metav1.GetOptions{})
		require.NoError(t, err)
		before, o.Rules = o.Rules, change(o.Rules)
		_, err = roles.Update(t.Context(), o, metav1.UpdateOptions{})
		require.NoError(t, err)
		return before
	}
	before := set(kept)
	return func() { set(func([]rbacv1.PolicyRule) []rbacv1.PolicyRule { return before }) }
}

// may reports whether the server would let a service account of the manifests use a right.
func may(t *testing.T, kube *kubelab.Lab, user string, r right) bool {
	t.Helper()
	resource, subresource, _ := strings.Cut(r.resource, "/")
	review, err := kube.Client().AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:   user,
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + home, "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: r.group, Resource: resource, Subresource: subresource, Verb: r.verb, Namespace: r.namespace, Name: r.name,
			},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return review.Status.Allowed
}

// missing are those of rights that a user has not asked for in vain since the lab was started.
func missing(kube *kubelab.Lab, user string, rights []right) []right {
	requests := kube.Audit(user)
	return slices.DeleteFunc(slices.Clone(rights), func(r right) bool {
		return slices.ContainsFunc(requests, func(q kubelab.Request) bool { return r.uses(q) && q.Forbidden })
	})
}

// unused are those of rights that a user has not made use of by their own role since the lab was started.
func unused(kube *kubelab.Lab, user string, rights []right) []right {
	requests := kube.Audit(user)
	return slices.DeleteFunc(slices.Clone(rights), func(r right) bool {
		return slices.ContainsFunc(requests, func(q kubelab.Request) bool { return r.uses(q) && q.GrantedBy == r.role })
	})
}

// TestRights checks that every permission of the shipped roles is used, and that each is requested in vain if it is missing.
// A missing permission is reported as a problem, costs readiness or the purpose of the role, and deletes nothing; netloom
// recovers by itself once it is granted.
//
// Current servers stream lists, which requires permission to watch only. Permission to list is for older servers, and for
// clients that fall back.
func TestRights(t *testing.T) {
	t.Parallel()
	w := freeWorld(t, "WatchList=false")
	w.peopled()
	w.kube.Apply(policies + "---" + service)
	w.converge()
	w.loadBalances("web", web, web2)
	w.defineClusterPolicies()
	w.defineServiceImports()
	rights := rightsToWork(t, central(t)(settingsFor(w.ovn)))
	await.True(t, func() bool { return len(unused(w.kube, account, rights)) == 0 }, "the new kinds are watched")
	settled := w.ovn.Dump()
	requireNothingForbidden(t, w.kube)
	require.Empty(t, unused(w.kube, account, rights), "unused")
	t.Logf("%d rights, %d kinds of requests", len(rights), len(w.kube.Audit(account)))

	for _, r := range rights {
		w.end()
		giveBack := w.take(r)
		if r.resource == "leases" && r.verb == "create" {
			w.forgetLease()
		}
		w.netloom.Restart()
		w.awaitMissed(r)
		if r.verb == "list" {
			w.awaitProblem(r.resource)
			said := map[string]string{"netloom-policies": "the source has not synced", "netloom-services": "degraded: "}[r.role]
			if r.group == clusterPolicyGroup {
				said = "degraded: "
			}
			w.awaitReadiness(said)
		}
		if r.verb == "watch" {
			w.awaitReadiness("degraded: " + r.resource)
		}
		if r.resource == "leases" {
			w.awaitReadiness("standby: no instance leads: ")
		}
		require.Equal(t, settled, w.ovn.Dump(), "without %+v nothing is deleted, nothing added", r)
		giveBack()
		w.awaitReadiness("ok\n")
		require.Equal(t, settled, w.ovn.Dump())
	}
}

// end stops netloom as a kubelet would, so that what comes next need not wait for its Lease to run out.
func (w *world) end() {
	w.t.Helper()
	require.NoError(w.t, w.netloom.Signal(syscall.SIGTERM))
	<-w.netloom.Exited()
	require.Zero(w.t, w.netloom.ExitCode(), w.netloom.Tail(30))
}

// forgetLease removes the Lease.
func (w *world) forgetLease() {
	w.t.Helper()
	require.NoError(w.t, w.kube.Client().CoordinationV1().Leases(home).Delete(w.t.Context(), "netloom-leader", metav1.DeleteOptions{}))
}

// take takes rights away and waits until the server knows.
func (w *world) take(rights ...right) (giveBack func()) {
	w.t.Helper()
	return without(w.t, w.kube, account, rights...)
}

// awaitMissed waits until netloom has asked in vain for each that it has no right to.
func (w *world) awaitMissed(rights ...right) {
	w.t.Helper()
	await.True(w.t, func() bool {
		w.netloom.Running()
		rights = missing(w.kube, account, rights)
		return len(rights) == 0
	}, "netloom misses %+v", rights)
}

// awaitReadiness waits until netloom says this of itself: "ok" and nothing else, or what it contains.
func (w *world) awaitReadiness(want string) {
	w.t.Helper()
	await.True(w.t, func() bool {
		w.netloom.Running()
		answer, err := w.netloom.Get("/readyz")
		if err != nil {
			answer = err.Error()
		}
		answer, _, _ = strings.Cut(answer, "confirmed: ")
		return answer == want || want != "ok\n" && strings.Contains(answer, want)
	}, "/readyz says %q", want)
}
