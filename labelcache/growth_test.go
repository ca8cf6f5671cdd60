package labelcache_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/growth"
)

func requirement(t testing.TB, key string, op selection.Operator, values ...string) labels.Requirement {
	t.Helper()
	r, err := labels.NewRequirement(key, op, values)
	require.NoError(t, err)
	return *r
}

func numbered(prefix string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint(prefix, i)
	}
	return list
}

// TestASelectorGrowsWithItsRequirements has requirements that cost each as much as all others when they are not taken
// together.
func TestASelectorGrowsWithItsRequirements(t *testing.T) {
	for _, tc := range []struct {
		name     string
		selector func(n int) []labels.Requirement
	}{
		{"many that exclude a value of one key", func(n int) (rs []labels.Requirement) {
			for _, v := range numbered("v", n) {
				rs = append(rs, requirement(t, "k", selection.NotIn, v))
			}
			return rs
		}},
		{"one with many values, which pods carry less often than those of many others", func(n int) []labels.Requirement {
			rs := []labels.Requirement{requirement(t, "a", selection.In, numbered("v", n)...)}
			for _, k := range numbered("k", n) {
				rs = append(rs, requirement(t, k, selection.In, "x", "y"))
			}
			return rs
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			growth.NearlyLinear(t, 2000, func(n int) func() {
				c := labelcache.New()
				carried := map[string]string{}
				for _, k := range numbered("k", n) {
					carried[k] = "x"
				}
				c.SetEndpoint(labelcache.Endpoint{Key: object.Key{Name: "pod"}, Labels: carried})
				s := labels.NewSelector().Add(tc.selector(n)...)
				return func() { c.AddTerm("set", labelcache.NewTerm(labelcache.Selection{Pods: s})) }
			})
		})
	}
}

// TestAPodGrowsWithItsPorts has as many terms that ask for a port as the pod declares ports.
func TestAPodGrowsWithItsPorts(t *testing.T) {
	growth.NearlyLinear(t, 1500, func(n int) func() {
		c := labelcache.New()
		pod := labelcache.Endpoint{Key: object.Key{Name: "pod"}}
		for i, name := range numbered("port", n) {
			pod.Ports = append(pod.Ports, labelcache.NamedPort{Name: name, Protocol: labelcache.TCP, Number: uint16(i)})
			c.AddTerm("set", labelcache.NewTerm(labelcache.Selection{Port: labelcache.PortMatch{Name: name, Protocol: labelcache.TCP}}))
		}
		return func() {
			c.SetEndpoint(pod)
			pod.Labels = map[string]string{"app": "web"}
			c.SetEndpoint(pod)
			c.DeleteEndpoint(pod.Key)
		}
	})
}

// TestTheNumbersOfAPortGrowWithTheirPods has a term for each number that pods declare a port with.
func TestTheNumbersOfAPortGrowWithTheirPods(t *testing.T) {
	growth.NearlyLinear(t, 2000, func(n int) func() {
		c := labelcache.New()
		terms := make([]labelcache.Term, n)
		for i, name := range numbered("pod", n) {
			port := labelcache.NamedPort{Name: "web", Protocol: labelcache.TCP, Number: uint16(i)}
			c.SetEndpoint(labelcache.Endpoint{Key: object.Key{Name: name}, Ports: []labelcache.NamedPort{port}})
			terms[i] = labelcache.NewTerm(labelcache.Selection{
				Port: labelcache.PortMatch{Name: "web", Protocol: labelcache.TCP, Number: uint16(1 + i)},
			})
		}
		return func() {
			for _, term := range terms {
				c.AddTerm(labelcache.SetID(term.ID()), term)
			}
			for _, name := range numbered("pod", n) {
				c.DeleteEndpoint(object.Key{Name: name})
			}
			for _, term := range terms {
				c.RemoveTerm(labelcache.SetID(term.ID()), term)
			}
		}
	})
}

// TestAPodGrowsWithItsLabels has terms within one label of a namespace each, and for one label of a pod each.
func TestAPodGrowsWithItsLabels(t *testing.T) {
	growth.NearlyLinear(t, 4000, func(n int) func() {
		c := labelcache.New()
		carried := map[string]string{}
		for _, k := range numbered("k", n) {
			carried[k] = "x"
			s := labels.SelectorFromSet(labels.Set{k: "x"})
			c.AddTerm("set", labelcache.NewTerm(labelcache.Selection{Namespaces: s, Pods: s}))
		}
		c.SetNamespace("", "shop", carried)
		return func() {
			c.SetEndpoint(labelcache.Endpoint{Key: object.Key{Namespace: "shop", Name: "pod"}, Labels: carried})
		}
	})
}
