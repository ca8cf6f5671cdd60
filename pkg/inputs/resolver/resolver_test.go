package resolver_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/inputs/resolver"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	"github.com/netloom/netloom/translator"
)

// dns answers lookups. A name without an answer does not exist, and one with an empty answer is not answered for.
type dns struct {
	mu      sync.Mutex
	answers map[string]string
	asked   map[string]int
}

func (d *dns) lookUp(ctx context.Context, name string) ([]netip.Addr, error) {
	d.mu.Lock()
	d.asked[name]++
	answer, known := d.answers[name]
	d.mu.Unlock()
	switch {
	case !known:
		return nil, &net.DNSError{Name: name, IsNotFound: true}
	case answer == "":
		<-ctx.Done()
		return nil, errors.New("no server answers")
	}
	return []netip.Addr{netip.MustParseAddr(answer)}, nil
}

// publisher calls back at once, as a pipeline with nothing else to do.
type publisher struct {
	mu     sync.Mutex
	wanted []string
	r      *resolver.Resolver
	passed int
}

func (p *publisher) Do(f func(*translator.Translator)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passed++
	f(translator.New(translator.Options{}))
	p.r.Want(p.wanted)
}

type counts struct {
	sync.Mutex
	by map[string]int
}

func (c *counts) LookedUp(result string) {
	c.Lock()
	defer c.Unlock()
	c.by[result]++
}

// TestSettled waits for the first answers, but not forever.
func TestSettled(t *testing.T) {
	for _, tc := range []struct {
		name    string
		answers map[string]string
		want    time.Duration // until it is settled
		results map[string]int
	}{
		{"no names", nil, 0, map[string]int{}},
		{"answers", map[string]string{"a": "192.0.2.1", "b": "192.0.2.2"}, 0, map[string]int{"found": 2}},
		{"a name that does not exist", map[string]string{"a": "192.0.2.1", "": "b"}, 0, map[string]int{"found": 1, "absent": 1}},
		{"one name without an answer", map[string]string{"a": "192.0.2.1", "b": ""}, 5 * time.Second, map[string]int{"found": 1, "failed": 1}},
		{"many names without an answer", many(), 10 * time.Second, map[string]int{"failed": 16}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &dns{answers: tc.answers, asked: map[string]int{}}
				p, m := &publisher{}, &counts{by: map[string]int{}}
				for name, answer := range tc.answers {
					if name == "" {
						name = answer
					}
					p.wanted = append(p.wanted, name)
				}
				slices.Sort(p.wanted)
				p.r = resolver.New(resolver.Options{LookUp: d.lookUp}, p, m, pipelinetest.Log(t))
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- p.r.Run(ctx) }()
				time.Sleep(time.Hour) // the source takes its time
				p.r.Want(p.wanted)
				for range int(tc.want / time.Second) {
					synctest.Wait()
					require.False(t, p.r.Settled())
					time.Sleep(time.Second)
				}
				synctest.Wait()
				require.True(t, p.r.Settled())
				m.Lock()
				defer m.Unlock()
				require.Equal(t, tc.results, m.by)
				cancel()
				require.NoError(t, <-ended)
			})
		})
	}
}

// many returns more names than are looked up at once within the limit.
func many() map[string]string {
	out := map[string]string{}
	for _, a := range "abcdefghijklmnopqrstuvwxyz" {
		out[string(a)] = ""
	}
	return out
}
