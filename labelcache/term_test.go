package labelcache_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/labelcache"
)

func TestEqualSelectionsHaveOneID(t *testing.T) {
	for _, tc := range []struct {
		name  string
		texts []string
	}{
		{"operators of one value", []string{"a=x", "a==x", "a in (x)", "a in (x),a", "a in (x,y),a!=y", "a in (x,y),a in (x,z)"}},
		{"order and duplicates", []string{"a in (x,y),b", "b,a in (y,x)", "b,a in (y,x),b,a in (x,y)"}},
		{"negatives", []string{"a notin (x,y)", "a!=x,a!=y", "a!=y,a notin (x,y)"}},
		{"absence", []string{"!a", "!a,a!=x"}},
		{"contradictions", []string{"a,!a", "a=x,a=y", "a=x,!a", "a>5,a<6", "a=x,a>1", "a>9223372036854775807"}},
		{"bounds", []string{"a>3", "a>2,a>3", "a>3,a", "a>3,a!=2"}},
		{"nothing", []string{"", ""}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, text := range tc.texts {
				require.Equal(t, podTerm(t, tc.texts[0]).ID(), podTerm(t, text).ID(), text)
			}
		})
	}
	ids := map[string]bool{}
	for _, s := range []labelcache.Selection{
		{},
		{Namespace: "a"},
		{Cluster: "a"},
		{Node: "a"},
		{Namespaces: labels.Everything()},
		{Namespaces: labels.Nothing()},
		{Namespaces: selector(t, "a")},
		{Pods: selector(t, "a")},
		{Pods: selector(t, "!a")},
		{Pods: selector(t, "a!=x")},
		{Pods: selector(t, "a,a!=x")},
		{Pods: selector(t, "a>1")},
		{Pods: selector(t, "a<1")},
		{Pods: selector(t, "a=1")},
		{Port: labelcache.PortMatch{Name: "a"}},
		{Port: labelcache.PortMatch{Name: "a", Number: 1}},
		{Port: labelcache.PortMatch{Name: "a", Protocol: 1}},
	} {
		ids[labelcache.NewTerm(s).ID()] = true
	}
	require.Len(t, ids, 17)
	require.Equal(t, labelcache.NewTerm(labelcache.Selection{}).ID(),
		labelcache.NewTerm(labelcache.Selection{Pods: labels.Everything(), Port: labelcache.PortMatch{Number: 80}}).ID())
}

func TestTermsDescribeTheirSelection(t *testing.T) {
	for want, s := range map[string]labelcache.Selection{
		"all pods in all namespaces":                      {},
		"pods app=web,tier in (a,b) in namespace shop":    {Namespace: "shop", Pods: selector(t, "tier in (b,a),app=web")},
		"all pods in namespaces team=red,!x":              {Namespaces: selector(t, "team=red,!x")},
		"all pods on node k1":                             {Node: "k1"},
		"all pods with tcp port web at 80 in namespace a": {Namespace: "a", Port: labelcache.PortMatch{Name: "web", Protocol: 6, Number: 80}},
		"no pods": {Pods: labels.Nothing()},
		"all pods in all namespaces of any cluster":        {Cluster: labelcache.AnyCluster},
		"all pods in namespace a if it is b of cluster c1": {Cluster: "c1", Namespace: "a", Namespaces: selector(t, "b")},
	} {
		require.Equal(t, want, labelcache.NewTerm(s).String())
	}
	require.Equal(t, "ns=shop ns(team=red) pods(a>1,b!=x,c)", labelcache.NewTerm(labelcache.Selection{
		Namespace: "shop", Namespaces: selector(t, "team in (red)"), Pods: selector(t, "c,a>1,b!=x,a"),
	}).ID())
}

func TestTermOnANode(t *testing.T) {
	web := labelcache.NewTerm(labelcache.Selection{Namespace: "shop", Pods: labels.SelectorFromSet(labels.Set{"app": "web"})})
	there := labelcache.NewTerm(labelcache.Selection{Namespace: "shop", Pods: labels.SelectorFromSet(labels.Set{"app": "web"}), Node: "n1"})
	require.Equal(t, there.ID(), web.On("n1").ID())
	require.Equal(t, there.String(), web.On("n1").String())
	require.Equal(t, there.ID(), there.On("n1").ID())
	require.Equal(t, labelcache.Term{}, there.On("n2"), "no pod is on two nodes")
	require.Equal(t, labelcache.Term{}, labelcache.Term{}.On("n1"))
}
