package bucket_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/serve/webhook/bucket"
	"github.com/netloom/netloom/test/seeds"
)

// cluster is what roles and bindings most cases are decided in. Names of subjects say what they are bound to.
func cluster(t *testing.T, policy bucket.Policy) *bucket.Grants {
	t.Helper()
	g := bucket.NewGrants(policy)
	role := func(namespace, name, annotation string) {
		require.NoError(t, g.PutRole(namespace, name, map[string]string{bucket.Annotation: annotation}))
	}
	// The article's roles: the extended sdewan-test, and create-intent.
	role("default", "sdewan-test", `{ "mwan3rules": ["app-intent", "k8s-service"],
		"mwan3policies": ["app-intent"] }`)
	role("default", "create-intent", `{ "mwan3policies": ["app-intent"] }`)
	role("default", "wild", `{ "mwan3*": ["app-intent"] }`)
	role("other", "other", `{ "*": ["*"] }`)
	// What ICN SD-EWAN ships.
	role("", "allow-intent", `{"mwan3rules": ["app-intent", "k8s-service"], "mwan3policies": ["*"], "firewall*": ["app-intent"]}`)
	role("", "sdewan-manager-role", `{ "*": ["*"]}`)
	role("default", "questions", `{"firewall?nats": ["k8s-?ervice"], "sdewanapplications": ["basic"]}`)
	require.NoError(t, g.PutRole("default", "plain", nil))
	require.Error(t, g.PutRole("default", "broken", map[string]string{bucket.Annotation: `{ "mwan3rules": ["app-intent""k8s-service"] }`}))

	user := rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName}
	group := rbacv1.Subject{Kind: "Group", APIGroup: rbacv1.GroupName}
	account := rbacv1.Subject{Kind: "ServiceAccount"}
	bind := func(namespace, kind, role string, s rbacv1.Subject, name string) {
		s.Name = name
		if ns, account, ok := strings.Cut(name, "/"); ok {
			s.Namespace, s.Name = ns, account
		}
		g.PutBinding(namespace, strings.ReplaceAll(kind+"-"+role+"-"+name, "/", "-"),
			rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role}, []rbacv1.Subject{s})
	}
	bind("default", "Role", "sdewan-test", user, "onap")
	bind("default", "Role", "sdewan-test", account, "default/test")
	bind("default", "Role", "create-intent", user, "creator")
	bind("default", "Role", "wild", user, "wild")
	bind("default", "Role", "questions", user, "questions")
	bind("default", "Role", "plain", user, "plain")
	bind("default", "Role", "broken", user, "broken")
	bind("default", "Role", "missing", user, "missing")
	bind("default", "Role", "sdewan-test", group, "operators")
	bind("default", "Role", "other", user, "stray") // there is no such Role in default
	bind("other", "Role", "other", user, "other")
	bind("other", "ClusterRole", "allow-intent", user, "local")
	bind("default", "Role", "create-intent", account, "nameless") // of the binding's own namespace
	bind("", "ClusterRole", "allow-intent", user, "global")
	bind("", "ClusterRole", "allow-intent", group, "everywhere")
	bind("", "ClusterRole", "allow-intent", account, "lost") // without a namespace it matches no one
	bind("", "ClusterRole", "sdewan-manager-role", account, "sdewan-system/manager")
	bind("", "Role", "wild", user, "odd")
	bind("default", "Role", "create-intent", user, "both")
	bind("default", "Role", "questions", user, "both")
	return g
}

// in is a set of labels with a bucket; "" is none.
func in(name string) map[string]string {
	labels := map[string]string{v1alpha1.LabelPurpose: "cnf1"}
	if name != "" {
		labels[v1alpha1.LabelBucketType] = name
	}
	return labels
}

func TestDecide(t *testing.T) {
	const rules, policies = "mwan3rules", "mwan3policies"
	masters, garbage := "system:masters", "system:serviceaccount:kube-system:generic-garbage-collector"
	test, unbound := "system:serviceaccount:default:test", "system:serviceaccount:default:unbound"
	// buckets is one bucket, or those before and after an update: "basic > app-intent".
	for i, tc := range []struct {
		name, user, groups, resource, namespace, buckets string
		want                                             bool
	}{
		{"the article: rules with app-intent", "onap", "", rules, "default", "app-intent", true},
		{"the article: rules with k8s-service", "onap", "", rules, "default", "k8s-service", true},
		{"the article: rules of another bucket", "onap", "", rules, "default", "basic", false},
		{"the article: policies with app-intent", "onap", "", policies, "default", "app-intent", true},
		{"the article: policies with k8s-service", "onap", "", policies, "default", "k8s-service", false},
		{"the article: mwan3* are rules", "wild", "", rules, "default", "app-intent", true},
		{"the article: mwan3* are policies", "wild", "", policies, "default", "app-intent", true},
		{"the article: mwan3* are no zones", "wild", "", "firewallzones", "default", "app-intent", false},
		{"the article: mwan3* with another bucket", "wild", "", rules, "default", "k8s-service", false},
		{"the article: create-intent creates its own", "creator", "", policies, "default", "app-intent", true},
		{"the article: create-intent creates no other", "creator", "", policies, "default", "basic", false},
		{"the article: a resource that is not named", "creator", "", rules, "default", "app-intent", false},
		{"the article: a role of another namespace does not count", "onap", "", rules, "other", "app-intent", false},
		{"the article: the platform's objects are not ONAP's", "onap", "", "firewallrules", "default", "basic", false},
		{"the article: a service account", test, "", rules, "default", "app-intent", true},
		{"a service account with a bucket of others", test, "", rules, "default", "basic", false},
		{"a service account that nothing binds", unbound, "", rules, "default", "app-intent", false},
		{"a service account of that name elsewhere", "system:serviceaccount:other:test", "", rules, "default", "app-intent", false},
		{"a user called like a service account", "test", "", rules, "default", "app-intent", false},
		{"a service account without a namespace is the binding's", "system:serviceaccount:default:nameless", "", policies, "default", "app-intent", true},
		{"a service account without any namespace matches no one", "system:serviceaccount:default:lost", "", rules, "default", "app-intent", false},
		{"a group", "ann", "system:authenticated operators", rules, "default", "app-intent", true},
		{"a group with a bucket of others", "ann", "operators", rules, "default", "basic", false},
		{"a user called like a group", "operators", "", rules, "default", "app-intent", false},
		{"a group called like a user", "ann", "onap", rules, "default", "app-intent", false},
		{"a group everywhere", "ann", "everywhere", policies, "anywhere", "basic", true},
		{"a ClusterRoleBinding counts everywhere", "global", "", rules, "anywhere", "k8s-service", true},
		{"a ClusterRoleBinding, all buckets of a resource", "global", "", policies, "anywhere", "basic", true},
		{"a ClusterRoleBinding, a star in the resource", "global", "", "firewallforwardings", "anywhere", "app-intent", true},
		{"a ClusterRoleBinding, a star in the resource, another bucket", "global", "", "firewallsnats", "anywhere", "basic", false},
		{"networkfirewallrules do not begin with firewall", "global", "", "networkfirewallrules", "anywhere", "app-intent", false},
		{"a ClusterRoleBinding of a Role does not count", "odd", "", rules, "default", "app-intent", false},
		{"a RoleBinding of a ClusterRole counts in its namespace", "local", "", rules, "other", "app-intent", true},
		{"a RoleBinding of a ClusterRole counts nowhere else", "local", "", rules, "default", "app-intent", false},
		{"a Role is looked for in the binding's namespace", "stray", "", rules, "default", "app-intent", false},
		{"a Role in its own namespace", "other", "", "cnfnats", "other", "whatever", true},
		{"the controller may write everything", "system:serviceaccount:sdewan-system:manager", "", "ipsecsites", "default", "basic", true},
		{"question marks in resource and bucket", "questions", "", "firewallsnats", "default", "k8s-service", true},
		{"question marks for the other resource", "questions", "", "firewalldnats", "default", "k8s-service", true},
		{"question marks stand for one character", "questions", "", "firewallsnats", "default", "k8s-sservice", false},
		{"applications too", "questions", "", "sdewanapplications", "default", "basic", true},
		{"applications too, another bucket", "questions", "", "sdewanapplications", "default", "app-intent", false},
		{"a role without the annotation", "plain", "", rules, "default", "app-intent", false},
		{"a role whose annotation is not JSON", "broken", "", rules, "default", "app-intent", false},
		{"a role that is not there", "missing", "", rules, "default", "app-intent", false},
		{"a user without a binding", "bob", "system:authenticated", rules, "default", "app-intent", false},
		{"an empty user", "", "", rules, "default", "app-intent", false},
		{"an object in no bucket", "bob", "system:authenticated", rules, "default", "", true},
		{"an update within a bucket", "onap", "", rules, "default", "app-intent > app-intent", true},
		{"an update between one's buckets", "onap", "", rules, "default", "app-intent > k8s-service", true},
		{"taking over another's object", "onap", "", rules, "default", "basic > app-intent", false},
		{"giving an object to another's bucket", "onap", "", rules, "default", "app-intent > basic", false},
		{"taking the label off another's object", "onap", "", rules, "default", "basic > ", false},
		{"taking the label off one's own object", "onap", "", rules, "default", "app-intent > ", true},
		{"putting an object into one's bucket", "onap", "", rules, "default", " > app-intent", true},
		{"putting an object into another's bucket", "onap", "", rules, "default", " > basic", false},
		{"two bindings add up", "both", "", policies, "default", "app-intent", true},
		{"two bindings do not mix", "both", "", policies, "default", "basic", false},
		{"capitals matter in buckets", "onap", "", rules, "default", "App-Intent", false},
		{"cluster administrators", "admin", masters + " system:authenticated", rules, "default", "basic", true},
		{"cluster administrators without another group", "admin", masters, rules, "default", "basic", true},
		{"a user called system:masters", masters, "", rules, "default", "basic", false},
		{"the garbage collector", garbage, "", rules, "default", "basic", true},
		{"the namespace controller", "system:serviceaccount:kube-system:namespace-controller", "", rules, "default", "basic", true},
		{"a namespace controller of one's own", "system:serviceaccount:default:namespace-controller", "", rules, "default", "basic", false},
	} {
		t.Run(fmt.Sprintf("%02d %s", i+1, tc.name), func(t *testing.T) {
			g := cluster(t, bucket.Policy{ExemptUsers: bucket.DefaultExemptUsers(), ExemptGroups: bucket.DefaultExemptGroups()})
			r := &bucket.Request{User: tc.user, Groups: strings.Fields(tc.groups), Resource: tc.resource, Namespace: tc.namespace}
			for b := range strings.SplitSeq(tc.buckets, " > ") {
				r.Labels = append(r.Labels, in(strings.TrimSpace(b)))
			}
			got := g.Decide(r)
			require.Equal(t, tc.want, got.Allowed, got.Why)
			require.NotEmpty(t, got.Why)
		})
	}
}

func TestDefaultBucketIsThatOfObjectsWithoutLabel(t *testing.T) {
	g := cluster(t, bucket.Policy{DefaultBucket: "app-intent"})
	ask := func(user string, labels ...map[string]string) bucket.Decision {
		return g.Decide(&bucket.Request{User: user, Resource: "mwan3policies", Namespace: "default", Labels: labels})
	}
	require.True(t, ask("creator", in("")).Allowed)
	require.False(t, ask("bob", in("")).Allowed)
	require.False(t, ask("creator", in(""), in("basic")).Allowed)
	require.False(t, ask("admin", in("")).Allowed, "no group is exempt here")
	require.True(t, ask("creator", nil, in("app-intent")).Allowed)
}

func TestWhyNamesRoleOrWhatIsMissing(t *testing.T) {
	g := cluster(t, bucket.Policy{ExemptGroups: bucket.DefaultExemptGroups()})
	ask := func(r bucket.Request) string {
		r.Resource, r.Namespace, r.Labels = "mwan3rules", "default", []map[string]string{in("app-intent")}
		return g.Decide(&r).Why
	}
	require.Equal(t, "RoleBinding default/Role-sdewan-test-onap to Role default/sdewan-test", ask(bucket.Request{User: "onap"}))
	require.Equal(t, "ClusterRoleBinding ClusterRole-allow-intent-global to ClusterRole allow-intent", ask(bucket.Request{User: "global"}))
	require.Equal(t, "no role grants bucket app-intent of mwan3rules in namespace default", ask(bucket.Request{User: "bob"}))
	require.Equal(t, "group system:masters is exempt", ask(bucket.Request{User: "admin", Groups: []string{"system:masters"}}))
	require.Equal(t, "User(bob) don't have the permission", bucket.Denial("bob"))
}

func TestGrantsFollowChanges(t *testing.T) {
	g := bucket.NewGrants(bucket.Policy{})
	allowed := func(user string) bool {
		return g.Decide(&bucket.Request{
			User: user, Resource: "mwan3rules", Namespace: "shop", Labels: []map[string]string{in("app-intent")},
		}).Allowed
	}
	annotation := map[string]string{bucket.Annotation: `{"mwan3rules": ["app-intent"]}`}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "r"}
	ann, bob := rbacv1.Subject{Kind: "User", Name: "ann"}, rbacv1.Subject{Kind: "User", Name: "bob"}

	g.PutBinding("shop", "b", ref, []rbacv1.Subject{ann})
	require.False(t, allowed("ann"), "the role is not there yet")
	require.NoError(t, g.PutRole("", "r", annotation))
	require.True(t, allowed("ann"))
	g.PutBinding("shop", "b", ref, []rbacv1.Subject{bob, bob})
	require.False(t, allowed("ann"), "bound no more")
	require.True(t, allowed("bob"))
	require.Error(t, g.PutRole("", "r", map[string]string{bucket.Annotation: "{"}))
	require.False(t, allowed("bob"), "what the annotation said before does not count")
	require.NoError(t, g.PutRole("", "r", annotation))
	g.RemoveBinding("shop", "b")
	g.RemoveBinding("shop", "b")
	require.False(t, allowed("bob"))
	g.PutBinding("", "b", ref, []rbacv1.Subject{bob})
	require.True(t, allowed("bob"))
	g.RemoveRole("", "r")
	require.False(t, allowed("bob"))
}

// TestAnswerDependsOnStateAlone puts and removes at random and compares with Grants that only got the final state.
func TestAnswerDependsOnStateAlone(t *testing.T) {
	seeds.Each(t, "bucket", func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 1))
		long := bucket.NewGrants(bucket.Policy{})
		roles, bindings := map[int]string{}, map[int][2]int{}
		put := func(g *bucket.Grants, role int, text string) {
			_ = g.PutRole([]string{"", "ns"}[role%2], fmt.Sprint(role), map[string]string{bucket.Annotation: text})
		}
		bind := func(g *bucket.Grants, b int, to [2]int) {
			g.PutBinding([]string{"", "ns"}[b%2], fmt.Sprint(b), rbacv1.RoleRef{Kind: []string{"ClusterRole", "Role"}[to[0]%2], Name: fmt.Sprint(to[0])},
				[]rbacv1.Subject{{Kind: "User", Name: fmt.Sprint(to[1])}})
		}
		for range 300 {
			n := random.IntN(6)
			switch random.IntN(4) {
			case 0:
				roles[n] = []string{`{"a": ["x"]}`, `{"a": ["*"]}`, `{"b": ["x"]}`, `{`}[random.IntN(4)]
				put(long, n, roles[n])
			case 1:
				delete(roles, n)
				long.RemoveRole([]string{"", "ns"}[n%2], fmt.Sprint(n))
			case 2:
				bindings[n] = [2]int{random.IntN(6), random.IntN(3)}
				bind(long, n, bindings[n])
			default:
				delete(bindings, n)
				long.RemoveBinding([]string{"", "ns"}[n%2], fmt.Sprint(n))
			}
			short := bucket.NewGrants(bucket.Policy{})
			for _, r := range slices.Sorted(maps.Keys(roles)) {
				put(short, r, roles[r])
			}
			for _, b := range slices.Sorted(maps.Keys(bindings)) {
				bind(short, b, bindings[b])
			}
			for user := range 3 {
				for _, ns := range []string{"ns", "elsewhere"} {
					r := &bucket.Request{User: fmt.Sprint(user), Resource: "a", Namespace: ns, Labels: []map[string]string{in("y"), in("x")}}
					require.Equal(t, short.Decide(r), long.Decide(r))
				}
			}
		}
	})
}

func TestCheckNamesTheField(t *testing.T) {
	require.NoError(t, bucket.Check(nil))
	require.NoError(t, bucket.Check(map[string]string{bucket.Annotation: `{}`}))
	for _, text := range []string{"", "[]", `{"a": "b"}`, `{"a": [1]}`, `{"a": ["b"]} x`} {
		require.ErrorContains(t, bucket.Check(map[string]string{bucket.Annotation: text}), "metadata.annotations[sdewan-bucket-type-permission]", text)
	}
}
