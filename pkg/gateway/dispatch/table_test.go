package dispatch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/dispatch"
)

// resource returns a rule for everything in the core group, with one change.
func resource(change func(r *v1alpha1.DispatchPolicyRule)) v1alpha1.DispatchPolicyRule {
	r := v1alpha1.DispatchPolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}
	change(&r)
	return r
}

type rule = v1alpha1.DispatchPolicyRule

func get(resource, subresource string) dispatch.Request {
	return dispatch.Request{
		IsResource: true, Verb: "get", Resource: resource, Subresource: subresource, Name: "nginx",
		User: "admin", Groups: []string{"system:masters", "system:authenticated"},
	}
}

func TestRules(t *testing.T) {
	pods, podStatus, podLog := get("pods", ""), get("pods", "status"), get("pods", "log")
	node := pods
	node.User = "node-1"
	account := pods
	account.User, account.Groups = "system:serviceaccount:shop:web", []string{"system:serviceaccounts"}
	loner := pods
	loner.Groups = nil
	listed := pods
	listed.Verb, listed.Name = "list", ""
	apps := pods
	apps.APIGroup = "apps"
	health := dispatch.Request{Verb: "get", Path: "/healthz", User: "admin"}
	etcd := dispatch.Request{Verb: "get", Path: "/healthz/etcd", User: "admin"}
	healthzfoo := dispatch.Request{Verb: "get", Path: "/healthzfoo", User: "admin"}
	for _, tc := range []struct {
		name    string
		rule    v1alpha1.DispatchPolicyRule
		request dispatch.Request
		want    bool
	}{
		// The table of KubeGateway's matcher, with the meaning of the document.
		{"all of several excluded resources are excluded", resource(func(r *rule) { r.Resources = []string{"-pods", "-deployments"} }), pods, false},
		{"another resource is not", resource(func(r *rule) { r.Resources = []string{"-pods", "-deployments"} }), get("secrets", ""), true},
		{"all of several excluded verbs are excluded", resource(func(r *rule) { r.Verbs = []string{"-get", "-list"} }), pods, false},
		{"all of several excluded users are excluded", resource(func(r *rule) { r.Users = []string{"-admin", "-root"} }), pods, false},
		{"all of several excluded names are excluded", resource(func(r *rule) { r.ResourceNames = []string{"-nginx", "-b"} }), pods, false},
		{"a user in one excluded group is excluded", resource(func(r *rule) { r.UserGroups = []string{"-system:masters"} }), pods, false},
		{"a subresource of all resources is excluded", resource(func(r *rule) { r.Resources = []string{"-*/status"} }), podStatus, false},
		{"its resource is not", resource(func(r *rule) { r.Resources = []string{"-*/status"} }), pods, true},
		{"users are excluded by a prefix", resource(func(r *rule) { r.Users = []string{"-node-*"} }), node, false},
		{"other users are not", resource(func(r *rule) { r.Users = []string{"-node-*"} }), pods, true},
		{"an excluded resource does not exclude its subresources", resource(func(r *rule) { r.Resources = []string{"-pods"} }), podLog, true},
		{"a user without groups is in no excluded one", resource(func(r *rule) { r.UserGroups = []string{"-x"} }), loner, true},
		{"exclusions beside a resource are ignored", resource(func(r *rule) { r.Resources = []string{"-pods", "deployments"} }), get("secrets", ""), false},
		{"the resource beside them matches", resource(func(r *rule) { r.Resources = []string{"-pods", "deployments"} }), get("deployments", ""), true},

		// Empty lists.
		{"no verbs match nothing", resource(func(r *rule) { r.Verbs = nil }), pods, false},
		{"no API groups match nothing", resource(func(r *rule) { r.APIGroups = nil }), pods, false},
		{"no resources match nothing", resource(func(r *rule) { r.Resources = nil }), pods, false},
		{"no names match all", resource(func(*rule) {}), listed, true},
		{"no paths match nothing", rule{Verbs: []string{"*"}}, health, false},

		// Wildcards.
		{"* beside exclusions matches all", resource(func(r *rule) { r.Resources = []string{"-pods", "*"} }), pods, true},
		{"-* excludes everything", resource(func(r *rule) { r.Resources = []string{"-*"} }), pods, false},
		{"* matches subresources", resource(func(*rule) {}), podLog, true},
		{"* matches a user without groups", resource(func(r *rule) { r.UserGroups = []string{"*"} }), loner, true},
		{"a resource does not match its subresource", resource(func(r *rule) { r.Resources = []string{"pods"} }), podLog, false},
		{"a subresource matches", resource(func(r *rule) { r.Resources = []string{"pods/log"} }), podLog, true},
		{"a subresource of all resources matches", resource(func(r *rule) { r.Resources = []string{"*/log"} }), podLog, true},
		{"another subresource does not", resource(func(r *rule) { r.Resources = []string{"*/status"} }), podLog, false},
		{"all subresources of a resource are not supported", resource(func(r *rule) { r.Resources = []string{"pods/*"} }), podLog, false},

		// Groups and names.
		{"the core group is empty", resource(func(r *rule) { r.APIGroups = []string{""} }), pods, true},
		{"it is not apps", resource(func(r *rule) { r.APIGroups = []string{""} }), apps, false},
		{"- excludes the core group", resource(func(r *rule) { r.APIGroups = []string{"-"} }), pods, false},
		{"but no other", resource(func(r *rule) { r.APIGroups = []string{"-"} }), apps, true},
		{"a list has no name", resource(func(r *rule) { r.ResourceNames = []string{"nginx"} }), listed, false},
		{"which no exclusion names", resource(func(r *rule) { r.ResourceNames = []string{"-nginx"} }), listed, true},

		// Users and service accounts.
		{"a user is listed", resource(func(r *rule) { r.Users = []string{"admin"} }), pods, true},
		{"a prefix of a user is listed", resource(func(r *rule) { r.Users = []string{"node-*"} }), node, true},
		{"a user is listed beside a prefix", resource(func(r *rule) { r.Users = []string{"node-*", "admin"} }), pods, true},
		{"an exclusion beside a prefix is ignored", resource(func(r *rule) { r.Users = []string{"node-*", "-x"} }), pods, false},
		{"an excluded prefix beside a user is ignored", resource(func(r *rule) { r.Users = []string{"-adm*", "admin"} }), pods, true},
		{"a prefix and a user are excluded", resource(func(r *rule) { r.Users = []string{"-node-*", "-admin"} }), pods, false},
		{"a user is not listed", resource(func(r *rule) { r.Users = []string{"root"} }), pods, false},
		{"a service account is listed", resource(func(r *rule) { r.ServiceAccounts = accounts("shop", "web") }), account, true},
		{"a user is none of the service accounts", resource(func(r *rule) { r.ServiceAccounts = accounts("shop", "web") }), pods, false},
		{"a service account is listed beside users", resource(func(r *rule) {
			r.Users, r.ServiceAccounts = []string{"root"}, accounts("shop", "web")
		}), account, true},
		{"a user is listed beside service accounts", resource(func(r *rule) {
			r.Users, r.ServiceAccounts = []string{"admin"}, accounts("shop", "web")
		}), pods, true},
		{"a service account is a user", resource(func(r *rule) { r.Users = []string{account.User} }), account, true},
		{"and in a group", resource(func(r *rule) { r.UserGroups = []string{"system:serviceaccounts"} }), account, true},
		{"one of the groups is listed", resource(func(r *rule) { r.UserGroups = []string{"x", "system:masters"} }), pods, true},
		{"none of the groups is listed", resource(func(r *rule) { r.UserGroups = []string{"x"} }), pods, false},

		// Paths.
		{"a path matches", rule{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz"}}, health, true},
		{"a path is no prefix", rule{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz"}}, etcd, false},
		{"a prefix matches", rule{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz*"}}, healthzfoo, true},
		{"a prefix with a slash needs one", rule{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz/*"}}, health, false},
		{"it matches what is below", rule{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz/*"}}, etcd, true},
		{"* matches every path", rule{Verbs: []string{"get"}, NonResourceURLs: []string{"*"}}, health, true},
		{"exclusions of paths match nothing", rule{Verbs: []string{"get"}, NonResourceURLs: []string{"-/healthz"}}, etcd, false},
		{"a path has a verb", rule{Verbs: []string{"post"}, NonResourceURLs: []string{"*"}}, health, false},
		{"a path has a user", rule{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}, Users: []string{"-admin"}}, health, false},
		{"rules for resources match no path", resource(func(*rule) {}), health, false},
		{"rules for paths match no resource", rule{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}}, pods, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := -1
			if tc.want {
				want = 0
			}
			policies := []v1alpha1.DispatchPolicy{{Rules: []v1alpha1.DispatchPolicyRule{tc.rule}}}
			require.Equal(t, want, dispatch.Compile(policies).Match(&tc.request))
			require.Equal(t, want, naive(policies, &tc.request), "the naive evaluator")
		})
	}
}

func accounts(namespace, name string) []v1alpha1.ServiceAccountRef {
	return []v1alpha1.ServiceAccountRef{{Namespace: namespace, Name: name}}
}

func TestTheFirstPolicyWins(t *testing.T) {
	everything := v1alpha1.DispatchPolicy{Rules: []v1alpha1.DispatchPolicyRule{resource(func(*rule) {})}}
	secrets := v1alpha1.DispatchPolicy{Rules: []v1alpha1.DispatchPolicyRule{
		resource(func(r *rule) { r.Resources = []string{"configmaps"} }),
		resource(func(r *rule) { r.Resources = []string{"secrets"} }),
	}}
	request := get("secrets", "")
	require.Equal(t, 0, dispatch.Compile([]v1alpha1.DispatchPolicy{everything, secrets}).Match(&request))
	require.Equal(t, 0, dispatch.Compile([]v1alpha1.DispatchPolicy{secrets, everything}).Match(&request), "rules are alternatives")
	request.Resource = "pods"
	require.Equal(t, 1, dispatch.Compile([]v1alpha1.DispatchPolicy{secrets, everything}).Match(&request))
	require.Equal(t, -1, dispatch.Compile(nil).Match(&request))
}
