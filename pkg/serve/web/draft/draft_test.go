package draft_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/answers/impact"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/serve/web/draft"
	"github.com/netloom/netloom/test/growth"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
	"github.com/netloom/netloom/translator"
)

// translated is the state of some objects.
func translated(t testing.TB, objects []runtime.Object) world.State {
	t.Helper()
	return translatedBy(t, objects, translator.Options{})
}

func translatedBy(t testing.TB, objects []runtime.Object, opts translator.Options) world.State {
	t.Helper()
	tr := translator.New(opts)
	var state world.State
	for _, o := range objects {
		require.NoError(t, tr.Put(o))
		state.Objects.Add(o)
	}
	state.Snapshot, state.View, state.Problems = tr.Snapshot(), tr.View(), tr.Problems()
	return state
}

// split are the policies among objects, and what these select.
func split(objects []runtime.Object) (policies, world []runtime.Object) {
	for _, o := range objects {
		_, policy := draft.RefOf(o)
		switch o.(type) {
		case *corev1.Pod, *corev1.Namespace, *corev1.Node:
			world = append(world, o)
		default:
			if policy {
				policies = append(policies, o)
			}
		}
	}
	return policies, world
}

// TestADraftIsWhatATranslationOfEverythingWouldBe replaces, adds and removes policies of random clusters.
func TestADraftIsWhatATranslationOfEverythingWouldBe(t *testing.T) {
	edits := 0
	seeds.Each(t, "draft", func(t *testing.T, seed uint64) {
		cluster := policygen.Generate(seed, policygen.Size{Pods: 10, Policies: 6, Cluster: int((seed-1)%2) * 4})
		cluster.Answers = nil
		opts := translator.Options{PartsOnly: (seed-1)%4 < 2}
		if opts.PartsOnly {
			cluster.Policies = append(cluster.Policies, policygen.Alike(cluster, policygen.NewRand(seed), 6)...)
		}
		objects := policygen.Objects(cluster)
		policies, world := split(objects)
		before := translatedBy(t, objects, opts)
		for n, was := range policies {
			ref, _ := draft.RefOf(was)
			var edit draft.Edit
			without := []runtime.Object{}
			for _, o := range objects {
				if o != was {
					without = append(without, o)
				}
			}
			if n%2 == 0 {
				edit.Removed = []object.Ref{ref}
			} else { // it gets what the policy before it says
				edit.Put = []runtime.Object{renamed(t, policies[n-1], was)}
				without = append(without, edit.Put...)
			}
			after, err := draft.Make(before, world, edit, opts)
			require.NoError(t, err)
			whole := translated(t, without)
			require.Empty(t, impact.Of(whole, after).Changes, "seed %d, %s", seed, ref)
			require.ElementsMatch(t, whole.Problems, after.Problems, "seed %d, %s", seed, ref)
			require.Equal(t, impact.Of(before, whole), impact.Of(before, after), "seed %d, %s", seed, ref)
			edits += len(impact.Of(before, after).Changes)
		}
	})
	if seeds.All() {
		require.Positive(t, edits, "some edits change something")
	}
}

// TestADraftOfPoliciesWithMuchInCommon adds several policies at once, whose lists of peers are composite sets in a translation of their own.
func TestADraftOfPoliciesWithMuchInCommon(t *testing.T) {
	opts := translator.Options{PartsOnly: true}
	seeds.Each(t, "drafts", func(t *testing.T, seed uint64) {
		cluster := policygen.Generate(seed, policygen.Size{Pods: 20})
		if seed%2 == 0 {
			cluster.Policies = nil // the first ones that deny: nodes have access to their own pods
		}
		objects := policygen.Objects(cluster)
		_, world := split(objects)
		var edit draft.Edit
		for _, p := range policygen.Alike(cluster, policygen.NewRand(seed), 12) {
			p.SetGroupVersionKind(networkingv1.SchemeGroupVersion.WithKind(object.KindNetworkPolicy))
			edit.Put = append(edit.Put, p)
		}
		before := translatedBy(t, objects, opts)
		after, err := draft.Make(before, world, edit, opts)
		require.NoError(t, err)
		whole := translated(t, slices.Concat(objects, edit.Put))
		require.Empty(t, impact.Of(whole, after).Changes, "seed %d", seed)
		require.NotEmpty(t, impact.Of(before, after).Changes, "seed %d", seed)
	})
}

// renamed is a policy with the name of another of its kind; that one itself if their kinds differ.
func renamed(t *testing.T, p, as runtime.Object) runtime.Object {
	t.Helper()
	a, _ := draft.RefOf(p)
	b, _ := draft.RefOf(as)
	if a.Kind != b.Kind {
		return as
	}
	out := p.DeepCopyObject()
	named, ok := out.(interface {
		SetName(name string)
		SetNamespace(namespace string)
	})
	require.True(t, ok)
	named.SetName(b.Name)
	named.SetNamespace(b.Namespace)
	return out
}

const webOnly = `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web, namespace: shop}
spec:
  podSelector: {matchLabels: {app: web}}
  ingress:
  - ports: [{port: 80}]
`

func TestParseNamesTheLines(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		wantPut    int
		wantLine   int
		want       string
	}{
		{"a policy", webOnly, 1, 0, ""},
		{"no YAML", "a: [\nb", 0, 2, "did not find expected"},
		{"an unknown port", strings.Replace(webOnly, "port: 80", "port: 99999", 1), 0, 7, "99999"},
		{"an unknown field", strings.Replace(webOnly, "podSelector", "podSelecter", 1), 0, 5, "unknown field"},
		{"the second document", webOnly + "---\n" + strings.NewReplacer("name: web", "name: other", "port: 80", "port: 0").Replace(webOnly), 1, 15, "between 1 and 65535"},
		{"a pod", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", 0, 1, "only policies can be edited here"},
		{"a Deployment", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n", 0, 0, "not a Deployment"},
		{"too much", strings.Repeat("#\n", draft.MaxText), 0, 0, "longer than 262144 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			edit := draft.Parse([]byte(tc.text))
			require.Len(t, edit.Put, tc.wantPut)
			if tc.want == "" && tc.wantLine == 0 {
				require.Empty(t, edit.Problems)
				return
			}
			require.NotEmpty(t, edit.Problems)
			require.Contains(t, edit.Problems[0].Message, tc.want)
			require.Equal(t, tc.wantLine, edit.Problems[0].Place.Line, edit.Problems[0])
		})
	}
	many := strings.Builder{}
	for i := range draft.MaxPolicies + 1 {
		many.WriteString("---\n" + strings.Replace(webOnly, "name: web", "name: web-"+strings.Repeat("x", i+1), 1))
	}
	require.Empty(t, draft.Parse([]byte(many.String())).Put)
}

// TestProblemsOfTheTranslationHaveLines reads a policy that is valid but not understood as a whole.
func TestProblemsOfTheTranslationHaveLines(t *testing.T) {
	edit := draft.Parse([]byte(strings.Replace(webOnly, "metadata: {name: web, namespace: shop}",
		"metadata:\n  name: web\n  namespace: shop\n  annotations:\n    netloom.io/acl-logging: nonsense", 1)))
	require.Len(t, edit.Put, 1, edit.Problems)
	state, err := draft.Make(translated(t, nil), nil, edit, translator.Options{})
	require.NoError(t, err)
	require.Len(t, state.Problems, 1)
	require.Equal(t, 7, state.Problems[0].Place.Line)
}

// TestATextOfMistakesCostsWhatItsLengthDoes has mistakes in every line: in as many documents, and in one policy.
func TestATextOfMistakesCostsWhatItsLengthDoes(t *testing.T) {
	for name, line := range map[string]struct{ head, each string }{
		"documents": {"", "---\na\n"},
		"ports":     {webOnly, "  - ports: [{port: 0}]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			growth.NearlyLinear(t, 2000, func(n int) func() {
				text := []byte(line.head + strings.Repeat(line.each, n))
				return func() {
					edit := draft.Parse(text)
					require.Len(t, edit.Problems, draft.MaxProblems+1)
					require.Empty(t, edit.Put)
				}
			})
		})
	}
}
