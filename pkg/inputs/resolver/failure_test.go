package resolver_test

import (
	"context"
	"errors"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/inputs/resolver"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	"github.com/netloom/netloom/translator"
)

// TestALookupThatFailsChangesNothing has DNS answer once, and not again.
func TestALookupThatFailsChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []func() ([]netip.Addr, error){
			func() ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil },
			func() ([]netip.Addr, error) { return nil, errors.New("no server answers") },
		}
		var asked, passed atomic.Int32
		k := &passing{to: translator.New(translator.Options{}), passed: &passed}
		m := &counts{by: map[string]int{}}
		r := resolver.New(resolver.Options{Interval: time.Minute, LookUp: func(context.Context, string) ([]netip.Addr, error) {
			return answers[min(int(asked.Add(1)), len(answers))-1]()
		}}, k, m, pipelinetest.Log(t))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		r.Want([]string{"a"})
		synctest.Wait()
		require.EqualValues(t, 1, passed.Load(), "the answer")
		time.Sleep(5*time.Minute + time.Second)
		synctest.Wait()
		n := int(asked.Load())
		require.Greater(t, n, 4)
		require.Equal(t, n-1, m.by["failed"])
		require.EqualValues(t, 1+settling, passed.Load(), "the last answer stands")
		cancel()
		require.NoError(t, <-ended)
	})
}

// settling is the call by which a resolver records that names without an answer were waited for long enough.
const settling = 1

// passing counts what is passed on to a translator.
type passing struct {
	to     *translator.Translator
	passed *atomic.Int32
}

func (p *passing) Do(f func(*translator.Translator)) {
	p.passed.Add(1)
	f(p.to)
}
