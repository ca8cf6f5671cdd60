package labelcache_test

import (
	"fmt"
	"maps"
	"net/netip"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/object"
)

// load is a realistic cluster: namespaces of a few teams, each with pods of a few applications.
type load struct {
	pods, spaces int
	selectors    int // in all; a hundred of them are cluster-wide
	policed      int // the namespaces that the others are for, with as many for each
}

func (l load) space(i int) string { return fmt.Sprintf("ns-%d", i%l.spaces) }

func (l load) spaceLabels(i int) map[string]string {
	return map[string]string{
		"kubernetes.io/metadata.name": l.space(i), "team": fmt.Sprintf("team-%d", i%l.spaces%50),
		"env": []string{"prod", "test"}[i%2],
	}
}

// pod is the i-th pod. Neighbours in order of i are in different namespaces, as informers deliver them.
func (l load) pod(i int) labelcache.Endpoint {
	n := i / l.spaces // in its namespace
	app := n % 10
	return labelcache.Endpoint{
		Key: object.Key{Namespace: l.space(i), Name: fmt.Sprintf("app-%d-%x-%d", app, i%l.spaces*7919, n)},
		Labels: map[string]string{
			"app": fmt.Sprintf("app-%d", app), "tier": []string{"front", "back", "data"}[app%3],
			"version": fmt.Sprintf("v%d", n%2), "pod-template-hash": fmt.Sprintf("%x", i%l.spaces*100+app),
			"app.kubernetes.io/part-of": l.space(i),
		},
		Addrs: []netip.Addr{
			netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}),
			netip.AddrFrom16([16]byte{0: 0xfd, 13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)}),
		},
		Ports: []labelcache.NamedPort{{Name: "http", Protocol: labelcache.TCP, Number: 8080}},
		Node:  fmt.Sprintf("node-%d", i*31%1000),
	}
}

func set(kv ...string) labels.Selector {
	s := labels.Set{}
	for i := 0; i < len(kv); i += 2 {
		s[kv[i]] = kv[i+1]
	}
	return labels.SelectorFromSet(s)
}

// selection is the i-th selector.
func (l load) selection(i int) labelcache.Selection {
	const wide = 100
	if i < wide {
		switch app := fmt.Sprintf("app-%d", i%10); i % 4 {
		case 0: // one application of one team
			return labelcache.Selection{Namespaces: set("team", fmt.Sprintf("team-%d", i%50)), Pods: set("app", app, "version", fmt.Sprintf("v%d", i%3))}
		case 1: // all of a namespace, by its name
			return labelcache.Selection{Namespaces: set("kubernetes.io/metadata.name", l.space(i))}
		case 2: // almost no pod
			return labelcache.Selection{Pods: set("app", app, "version", fmt.Sprintf("canary-%d", i))}
		default: // a team but for one tier
			tier, _ := labels.Parse(fmt.Sprintf("tier!=front,version notin (x%d)", i))
			return labelcache.Selection{Namespaces: set("team", fmt.Sprintf("team-%d", i%50), "env", "prod"), Pods: tier}
		}
	}
	i -= wide
	s := labelcache.Selection{Namespace: fmt.Sprintf("ns-%d", i%l.policed)}
	switch n := i / l.policed; {
	case n == 0:
	case n <= 10:
		s.Pods = set("app", fmt.Sprintf("app-%d", n-1))
	case n <= 13:
		s.Pods = set("tier", []string{"front", "back", "data"}[n-11])
	case n <= 17:
		s.Pods, _ = labels.Parse(fmt.Sprintf("tier in (back,data,x%d),version", n))
	default:
		s.Pods = set("app", fmt.Sprintf("app-%d", n%10), "version", fmt.Sprintf("v%d", n/3%2))
	}
	return s
}

func (l load) fill(c *labelcache.Cache, pods []labelcache.Endpoint) {
	for i := range l.spaces {
		c.SetNamespace("", l.space(i), l.spaceLabels(i))
	}
	for i := range l.selectors {
		t := labelcache.NewTerm(l.selection(i))
		c.AddTerm(labelcache.SetID(fmt.Sprintf("set-%d", i)), t)
		if i%2 == 0 { // half of them isolate the pods that they select
			c.AddTerm("isolated", t)
		}
	}
	for i := range pods {
		c.SetEndpoint(pods[i])
	}
	c.Commit()
}

func (l load) objects() []labelcache.Endpoint {
	pods := make([]labelcache.Endpoint, l.pods)
	for i := range pods {
		pods[i] = l.pod(i)
	}
	return pods
}

// events measures one kind of event with its commit in growing clusters: more namespaces of the same size, the same
// selectors for 50 of them, and the same event in one of those.
func events(b *testing.B, event func(b *testing.B, l load, c *labelcache.Cache)) {
	b.Helper()
	for _, pods := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			l := load{pods: pods, spaces: pods / 200, selectors: 1_000, policed: 50}
			c := labelcache.New()
			l.fill(c, l.objects())
			runtime.GC()
			b.ReportAllocs()
			b.ResetTimer()
			event(b, l, c)
		})
	}
}

func BenchmarkPodAdd(b *testing.B) {
	events(b, func(b *testing.B, l load, c *labelcache.Cache) {
		for i := 0; b.Loop(); i++ {
			e := l.pod(i % 10 * l.spaces)
			e.Key.Name = "new"
			c.SetEndpoint(e)
			c.Commit()
			b.StopTimer()
			c.DeleteEndpoint(e.Key)
			c.Commit()
			b.StartTimer()
		}
	})
}

func BenchmarkLabelChange(b *testing.B) {
	events(b, func(b *testing.B, l load, c *labelcache.Cache) {
		a := l.pod(0)
		z := a
		z.Labels = maps.Clone(a.Labels)
		z.Labels["app"] = "app-1"
		for i := 0; b.Loop(); i++ {
			if i%2 == 0 {
				c.SetEndpoint(z)
			} else {
				c.SetEndpoint(a)
			}
			if _, changes := c.Commit(); len(changes) == 0 {
				b.Fatal("no set changed")
			}
		}
	})
}

func BenchmarkNamespaceLabelChange(b *testing.B) {
	events(b, func(b *testing.B, l load, c *labelcache.Cache) {
		a, z := l.spaceLabels(0), l.spaceLabels(0)
		z["team"] = "team-3"
		for i := 0; b.Loop(); i++ {
			if i%2 == 0 {
				c.SetNamespace("", l.space(0), z)
			} else {
				c.SetNamespace("", l.space(0), a)
			}
			if _, changes := c.Commit(); len(changes) == 0 {
				b.Fatal("no set changed")
			}
		}
	})
}

func BenchmarkSelectorAdd(b *testing.B) {
	events(b, func(b *testing.B, l load, c *labelcache.Cache) {
		t := labelcache.NewTerm(labelcache.Selection{Namespace: l.space(1), Pods: set("app", "app-3", "version", "v1")})
		for b.Loop() {
			c.AddTerm("new", t)
			c.Commit()
			b.StopTimer()
			c.RemoveTerm("new", t)
			c.Commit()
			b.StartTimer()
		}
	})
}

func BenchmarkSelectorAddClusterWide(b *testing.B) {
	events(b, func(b *testing.B, l load, c *labelcache.Cache) {
		t := labelcache.NewTerm(labelcache.Selection{Pods: set("app", "app-3")})
		for b.Loop() {
			c.AddTerm("new", t)
			c.Commit()
			b.StopTimer()
			c.RemoveTerm("new", t)
			c.Commit()
			b.StartTimer()
		}
	})
}

// BenchmarkLoad fills a cache with 100,000 pods and 10,100 selectors, and measures the memory that this takes.
func BenchmarkLoad(b *testing.B) {
	l := load{pods: 100_000, spaces: 500, selectors: 10_100, policed: 500}
	pods := l.objects()
	weigh := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	endpoint := make([]*labelcache.Endpoint, l.pods) // what the cache copies of each object
	before := weigh()
	for i := range endpoint {
		e := pods[i]
		endpoint[i] = &e
	}
	objects := weigh() - before
	runtime.KeepAlive(endpoint)
	var size int64
	var members int
	for b.Loop() {
		b.StopTimer()
		before := weigh()
		b.StartTimer()
		c := labelcache.New()
		l.fill(c, pods)
		b.StopTimer()
		size = weigh() - before - objects
		members = 0
		for _, m := range c.View().Sets() {
			members += m.Len()
		}
		runtime.KeepAlive(c)
		b.StartTimer()
	}
	b.ReportMetric(float64(size)/float64(l.pods), "B/pod")
	b.ReportMetric(float64(members)/float64(l.pods), "sets/pod")
	runtime.KeepAlive(pods)
}
