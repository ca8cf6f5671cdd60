//go:build e2e

package e2ekube_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// right is the least that a role can give: one verb on one resource.
type right struct {
	role, group, resource, verb string
}

// rightsOf takes the cluster roles of manifests apart.
func rightsOf(t *testing.T, objects []*unstructured.Unstructured) []right {
	t.Helper()
	var all []right
	for _, o := range objects {
		if o.GetKind() != "ClusterRole" {
			continue
		}
		var role rbacv1.ClusterRole
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role))
		for _, rule := range role.Rules {
			require.Empty(t, rule.NonResourceURLs)
			require.Len(t, rule.APIGroups, 1)
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					require.NotContains(t, []string{rule.APIGroups[0], resource, verb}, "*", "role %s", role.Name)
					all = append(all, right{role.Name, rule.APIGroups[0], resource, verb})
				}
			}
		}
	}
	require.NotEmpty(t, all)
	return all
}

func (r right) uses(request kubelab.Request) bool {
	resource := request.Resource
	if request.Subresource != "" {
		resource += "/" + request.Subresource
	}
	return request.Verb == r.verb && request.Group == r.group && resource == r.resource
}

// without takes the right away from its role, and nothing else.
func (r right) without(t *testing.T, kube *kubelab.Lab) (giveBack func()) {
	t.Helper()
	roles := kube.Client().RbacV1().ClusterRoles()
	before, err := roles.Get(t.Context(), r.role, metav1.GetOptions{})
	require.NoError(t, err)
	after := before.DeepCopy()
	after.Rules = nil
	for _, rule := range before.Rules {
		for _, resource := range rule.Resources {
			verbs := slices.Clone(rule.Verbs)
			if resource == r.resource && rule.APIGroups[0] == r.group {
				verbs = slices.DeleteFunc(verbs, func(v string) bool { return v == r.verb })
			}
			if len(verbs) > 0 {
				after.Rules = append(after.Rules, rbacv1.PolicyRule{APIGroups: rule.APIGroups, Resources: []string{resource}, Verbs: verbs})
			}
		}
	}
	after, err = roles.Update(t.Context(), after, metav1.UpdateOptions{})
	require.NoError(t, err)
	return func() {
		before.ResourceVersion = after.ResourceVersion
		_, err := roles.Update(t.Context(), before, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
}

// TestRights holds that every right of the shipped roles is used, and that each is asked for in vain when it is missing.
// That is a problem that can be read, costs readiness or what the role is for, and deletes nothing; netloom recovers by
// itself when it has the right.
//
// Servers of today stream what they list, which takes the right to watch only. The right to list is for those of before,
// and for clients that fall back.
func TestRights(t *testing.T) {
	w := freeWorld(t, "WatchList=false")
	w.peopled()
	w.kube.Apply(policies + "---" + service)
	w.agree()
	w.balances("web", web, web2)
	settled := w.ovn.Dump()
	rights := rightsOf(t, central(t)(settingsFor(w.ovn)))
	requireNothingForbidden(t, w.kube)
	requests := w.kube.Audit(account)
	for _, r := range rights {
		require.True(t, slices.ContainsFunc(requests, func(q kubelab.Request) bool { return r.uses(q) && q.GrantedBy == r.role }),
			"nobody uses %+v", r)
	}
	t.Logf("%d rights, %d kinds of requests", len(rights), len(requests))

	for _, r := range rights {
		giveBack := w.take(r)
		w.netloom.Kill()
		w.netloom.Restart()
		w.awaitMissed(r)
		if r.verb == "list" {
			w.awaitProblem(r.resource)
			w.awaitReadiness(map[string]string{
				"netloom-policies": "the source has not synced",
				"netloom-services": "degraded: ",
			}[r.role])
		}
		require.Equal(t, settled, w.ovn.Dump(), "without %+v nothing is deleted, nothing added", r)
		giveBack()
		w.awaitReadiness("ok\n")
		require.Equal(t, settled, w.ovn.Dump())
	}
}

// take takes a right away and waits until the server knows.
func (w *world) take(r right) (giveBack func()) {
	w.t.Helper()
	giveBack = r.without(w.t, w.kube)
	ovnlab.Eventually(w.t, patience, "the server knows that the right is gone", func() bool { return !w.may(r) })
	return giveBack
}

// awaitMissed waits until netloom has asked in vain for what it has no right to.
func (w *world) awaitMissed(r right) {
	w.t.Helper()
	ovnlab.Eventually(w.t, patience, fmt.Sprintf("netloom misses %+v", r), func() bool {
		w.netloom.Running()
		return slices.ContainsFunc(w.kube.Audit(account), func(q kubelab.Request) bool { return r.uses(q) && q.Forbidden })
	})
}

// awaitReadiness waits until netloom says this of itself: "ok" and nothing else, or what it contains.
func (w *world) awaitReadiness(want string) {
	w.t.Helper()
	ovnlab.Eventually(w.t, patience, fmt.Sprintf("/readyz says %q", want), func() bool {
		w.netloom.Running()
		answer, err := w.netloom.Get("/readyz")
		if err != nil {
			answer = err.Error()
		}
		return answer == want || want != "ok\n" && strings.Contains(answer, want)
	})
}

// may says whether the server would let netloom use a right.
func (w *world) may(r right) bool {
	w.t.Helper()
	resource, subresource, _ := strings.Cut(r.resource, "/")
	review, err := w.kube.Client().AuthorizationV1().SubjectAccessReviews().Create(w.t.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               account,
			Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + home, "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Group: r.group, Resource: resource, Subresource: subresource, Verb: r.verb},
		},
	}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	return review.Status.Allowed
}
