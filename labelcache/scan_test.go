package labelcache

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/pkg/object"
)

// TestANewTermLooksOnlyAtItsMembers counts the endpoints that a new term is compared with. Only values that the term leaves a choice
// of, and labels of namespaces, make it look at others.
func TestANewTermLooksOnlyAtItsMembers(t *testing.T) {
	c := New()
	for i := range 10_000 {
		space := fmt.Sprint("space", i%10)
		c.SetNamespace("", space, nil)
		c.SetEndpoint(Endpoint{
			Key:    object.Key{Namespace: space, Name: fmt.Sprint("pod", i)},
			Labels: map[string]string{"app": fmt.Sprint("app", i/10%10), "tier": fmt.Sprint("tier", i/100%2)},
			Ports:  []NamedPort{{Name: "web", Protocol: TCP, Number: uint16(8000 + i/200%5)}},
			Node:   fmt.Sprint("node", i/1000),
		})
	}
	pods := labels.SelectorFromSet
	for _, tc := range []struct {
		name      string
		selection Selection
		want      int
	}{
		{"a label in a namespace", Selection{Namespace: "space1", Pods: pods(labels.Set{"app": "app2"})}, 100},
		{"two labels", Selection{Pods: pods(labels.Set{"app": "app2", "tier": "tier1"})}, 500},
		{"a label on a node", Selection{Pods: pods(labels.Set{"app": "app2"}), Node: "node3"}, 100},
		{"a port in a namespace", Selection{Namespace: "space1", Port: PortMatch{Name: "web", Protocol: TCP, Number: 8002}}, 200},
		{"a label in a namespace of any cluster", Selection{Cluster: AnyCluster, Namespace: "space1", Pods: pods(labels.Set{"app": "app2"})}, 1000},
		{"a label that none has", Selection{Namespace: "space1", Pods: pods(labels.Set{"app": "none"})}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			looked := 0
			tm := &term{spec: NewTerm(tc.selection).spec}
			c.scan(tm, func(uint32) { looked++ })
			require.Equal(t, tc.want, looked)
		})
	}
}
