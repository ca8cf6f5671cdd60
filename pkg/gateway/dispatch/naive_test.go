package dispatch_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/dispatch"
	"github.com/netloom/netloom/test/seeds"
)

// naive is Match, clause by clause from KubeGateway's design document: nothing is compiled, and no code is shared.
func naive(policies []v1alpha1.DispatchPolicy, q *dispatch.Request) int {
	for i, p := range policies {
		for _, r := range p.Rules {
			if naiveRule(&r, q) {
				return i
			}
		}
	}
	return -1
}

func naiveRule(r *v1alpha1.DispatchPolicyRule, q *dispatch.Request) bool {
	verbs := len(r.Verbs) > 0 && naiveList(r.Verbs, func(e string) bool { return e == q.Verb })
	groups := len(r.UserGroups) == 0 || naiveList(r.UserGroups, func(e string) bool {
		for _, g := range q.Groups {
			if g == e {
				return true
			}
		}
		return false
	})
	if !verbs || !groups || !naiveUser(r, q.User) {
		return false
	}
	if !q.IsResource {
		for _, u := range r.NonResourceURLs {
			prefix := strings.TrimSuffix(u, "*")
			if !strings.HasPrefix(u, "-") && (u == q.Path || prefix != u && strings.HasPrefix(q.Path, prefix)) {
				return true
			}
		}
		return false
	}
	apiGroups := len(r.APIGroups) > 0 && naiveList(r.APIGroups, func(e string) bool { return e == q.APIGroup })
	names := len(r.ResourceNames) == 0 || naiveList(r.ResourceNames, func(e string) bool { return e == q.Name })
	resources := len(r.Resources) > 0 && naiveList(r.Resources, func(e string) bool {
		if q.Subresource == "" {
			return e == q.Resource
		}
		return e == q.Resource+"/"+q.Subresource || e == "*/"+q.Subresource
	})
	return apiGroups && names && resources
}

func naiveUser(r *v1alpha1.DispatchPolicyRule, name string) bool {
	if len(r.Users) == 0 && len(r.ServiceAccounts) == 0 {
		return true
	}
	for _, a := range r.ServiceAccounts {
		if name == "system:serviceaccount:"+a.Namespace+":"+a.Name {
			return true
		}
	}
	return len(r.Users) > 0 && naiveList(r.Users, func(e string) bool {
		prefix, glob := strings.CutSuffix(e, "*")
		return e == name || glob && strings.HasPrefix(name, prefix)
	})
}

// naiveList evaluates a list that is not empty. is reports whether an element, without "-", names the value.
func naiveList(elements []string, is func(element string) bool) bool {
	positive, one, none := false, false, true
	for _, e := range elements {
		if e == "*" {
			return true
		}
		if rest, inverted := strings.CutPrefix(e, "-"); inverted {
			none = none && rest != "*" && !is(rest)
		} else {
			positive = true
			one = one || is(e)
		}
	}
	if positive {
		return one
	}
	return none
}

// TestRandomPoliciesMatchAsTheNaiveEvaluator draws from few words, so that most policies decide something.
func TestRandomPoliciesMatchAsTheNaiveEvaluator(t *testing.T) {
	seeds.Each(t, "dispatch", func(t *testing.T, seed uint64) { randomPolicies(t, rand.New(rand.NewPCG(seed, 0))) })
}

func randomPolicies(t *testing.T, random *rand.Rand) {
	t.Helper()
	matched := 0
	for range 20000 {
		policies := make([]v1alpha1.DispatchPolicy, 1+random.IntN(3))
		for i := range policies {
			policies[i].Rules = []v1alpha1.DispatchPolicyRule{randomRule(random)}
		}
		table := dispatch.Compile(policies)
		for range 5 {
			q := randomRequest(random)
			want := naive(policies, &q)
			require.Equal(t, want, table.Match(&q), "%+v\n%+v", policies, q)
			if want >= 0 {
				matched++
			}
		}
	}
	require.Greater(t, matched, 10000, "most policies match nothing: the test says little")
}

func pick(random *rand.Rand, words ...string) string { return words[random.IntN(len(words))] }

func elements(random *rand.Rand, words ...string) []string {
	var out []string
	for range random.IntN(4) {
		e := pick(random, words...)
		if random.IntN(2) == 0 {
			e = "-" + e
		}
		out = append(out, e)
	}
	if random.IntN(4) == 0 {
		out = append(out, "*")
	}
	return out
}

func randomRule(random *rand.Rand) v1alpha1.DispatchPolicyRule {
	r := v1alpha1.DispatchPolicyRule{
		Verbs: elements(random, "get", "list", "*"), APIGroups: elements(random, "", "apps"),
		Resources:       elements(random, "pods", "pods/log", "*/log", "secrets", "pods/*", "*"),
		ResourceNames:   elements(random, "a", "b"),
		Users:           elements(random, "ann", "an*", "bob", "system:serviceaccount:*"),
		UserGroups:      elements(random, "g", "h"),
		NonResourceURLs: elements(random, "/healthz", "/healthz*", "/healthz/*", "/"),
	}
	if random.IntN(3) == 0 {
		r.ServiceAccounts = accounts("n", pick(random, "a", "b"))
	}
	return r
}

func randomRequest(random *rand.Rand) dispatch.Request {
	q := dispatch.Request{
		IsResource: random.IntN(3) > 0, Verb: pick(random, "get", "list", "watch"), APIGroup: pick(random, "", "apps"),
		Resource: pick(random, "pods", "secrets"), Subresource: pick(random, "", "log", "status"), Name: pick(random, "", "a", "b"),
		Path: pick(random, "/healthz", "/healthz/etcd", "/healthzfoo", "/", "/metrics"),
		User: pick(random, "ann", "anna", "bob", "eve", "system:serviceaccount:n:a"),
	}
	for range random.IntN(3) {
		q.Groups = append(q.Groups, pick(random, "g", "h", "i"))
	}
	return q
}

// FuzzMatch compares lists of any elements, separated by commas, with the naive evaluator.
func FuzzMatch(f *testing.F) {
	f.Add("-get,-list", "-pods,*/log", "-node-*,admin", "-a,b", "/healthz*,-/", "pods", "log", "admin", "a", true)
	f.Add("*", "-*", "-*", "-", "*", "*", "*", "*", "", false)
	f.Fuzz(func(t *testing.T, verbs, resources, users, groups, urls, resource, subresource, user, group string, isResource bool) {
		r := v1alpha1.DispatchPolicyRule{
			Verbs: split(verbs), APIGroups: split(groups), Resources: split(resources), ResourceNames: split(groups), Users: split(users),
			UserGroups: split(groups), NonResourceURLs: split(urls),
		}
		q := dispatch.Request{
			IsResource: isResource, Verb: group, APIGroup: group, Resource: resource, Subresource: subresource, Name: user, Path: resource,
			User: user, Groups: split(group),
		}
		policies := []v1alpha1.DispatchPolicy{{Rules: []v1alpha1.DispatchPolicyRule{r}}}
		require.Equal(t, naive(policies, &q), dispatch.Compile(policies).Match(&q))
	})
}

func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}
