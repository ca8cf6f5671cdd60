package labelcache_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/object"
)

func TestMatchesAreRoundedAndReportedOnce(t *testing.T) {
	c := labelcache.New()
	db := labelcache.NewTerm(labelcache.Selection{Namespace: "shop", Pods: labels.SelectorFromSet(labels.Set{"app": "db"})})
	pod := func(i int) object.Key { return object.Key{Namespace: "shop", Name: fmt.Sprint(i)} }
	add := func(from, to int) {
		for i := from; i < to; i++ {
			c.SetEndpoint(labelcache.Endpoint{Key: pod(i), Labels: map[string]string{"app": "db"}})
		}
	}
	add(0, 10)
	c.AddTerm("a", db)
	c.AddTerm("b", db)
	require.Equal(t, []labelcache.Matches{{Term: db.ID(), Endpoints: 64}}, c.Matches(), "once for both sets")
	add(10, 64)
	require.Empty(t, c.Matches())
	add(64, 66)
	require.Equal(t, []labelcache.Matches{{Term: db.ID(), Endpoints: 128}}, c.Matches())
	c.SetEndpoint(labelcache.Endpoint{Key: pod(65), Labels: map[string]string{"app": "web"}})
	c.DeleteEndpoint(pod(64))
	require.Equal(t, []labelcache.Matches{{Term: db.ID(), Endpoints: 64}}, c.Matches())
	add(64, 65)
	c.DeleteEndpoint(pod(64))
	require.Empty(t, c.Matches(), "it is what it was")
	for i := range 64 {
		c.DeleteEndpoint(pod(i))
	}
	require.Equal(t, []labelcache.Matches{{Term: db.ID()}}, c.Matches())

	add(0, 1)
	c.RemoveTerm("a", db)
	c.RemoveTerm("b", db)
	require.Empty(t, c.Matches(), "no set has the term any more")
	c.AddTerm("a", db)
	require.Equal(t, []labelcache.Matches{{Term: db.ID(), Endpoints: 64}}, c.Matches(), "nothing was known of it")
}

func TestOpaqueEndpointsAreSelectedAsSuchOnly(t *testing.T) {
	c := labelcache.New()
	every := labelcache.NewTerm(labelcache.Selection{Pods: labels.Everything()})
	others := labelcache.NewTerm(labelcache.Selection{Opaque: true})
	require.NotEqual(t, every.ID(), others.ID())
	key := object.Key{Namespace: "shop", Name: "db"}
	c.AddTerm("every", every)
	c.SetEndpoint(labelcache.Endpoint{Key: key, Opaque: true})
	c.AddTerm("opaque", others)
	count := func(id labelcache.SetID) int {
		v, _ := c.Commit()
		m, _ := v.Set(id)
		return m.Len()
	}
	require.Equal(t, 1, count("opaque"))
	require.Zero(t, count("every"))
	c.SetEndpoint(labelcache.Endpoint{Key: key})
	require.Zero(t, count("opaque"))
	require.Equal(t, 1, count("every"))
	c.SetEndpoint(labelcache.Endpoint{Key: key, Opaque: true})
	require.Equal(t, 1, count("opaque"))
	require.Zero(t, count("every"))
}
