package pipeline_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/budget"
)

// linesOf runs a pipeline over a source with one namespace, and returns what it has logged since it was last called: the causes of problems,
// and other lines.
func linesOf(t *testing.T, src *pipelinetest.Source, shares budget.All) (lines func() []string) {
	t.Helper()
	log, hook := logtest.NewNullLogger()
	log.SetOutput(io.Discard)
	p := pipeline.New(src, translator.Options{Shares: shares}, log)
	src.Put(pipelinetest.Namespace("shop"))
	src.Sync()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() { _ = p.Run(ctx) }()
	return func() []string {
		synctest.Wait()
		var out []string
		for _, e := range hook.AllEntries() {
			switch {
			case e.Level > logrus.WarnLevel:
			case e.Data["error"] != nil:
				out = append(out, fmt.Sprint(e.Data["error"]))
			default:
				out = append(out, fmt.Sprint(e.Message, e.Data))
			}
		}
		hook.Reset()
		return out
	}
}

// faulty is a policy with a fault.
func faulty(i int) *networkingv1.NetworkPolicy {
	p := pipelinetest.Policy(fmt.Sprintf("p%04d", i), "db", "web")
	p.Spec.Ingress[0].From = []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "none"}}}
	return p
}

// TestANumberThatGrowsIsLoggedOnceAMinute has more and more policies exceed the budget of their namespace.
func TestANumberThatGrowsIsLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := pipelinetest.New()
		lines := linesOf(t, src, budget.All{Policies: budget.Shares{Namespace: 1}})
		exceeds := func() (out []string) {
			for _, line := range lines() {
				if strings.Contains(line, "exceed their budget: ") {
					out = append(out, line)
				}
			}
			return out
		}
		began := time.Now()
		for i := range 50 {
			src.Put(pipelinetest.Policy(fmt.Sprint("p", i), "db", "web"))
			time.Sleep(time.Second)
		}
		first := exceeds()
		require.Len(t, first, 1)
		require.Contains(t, first[0], " 1 do not fit")
		time.Sleep(time.Until(began.Add(59 * time.Second)))
		require.Empty(t, exceeds())
		time.Sleep(time.Second)
		second := exceeds()
		require.Len(t, second, 1, "nothing else happens: the clock is enough")
		require.Contains(t, second[0], " 50 do not fit")
		time.Sleep(time.Hour)
		require.Empty(t, exceeds(), "nothing has changed")
		src.Put(pipelinetest.Policy("last", "db", "web"))
		require.Contains(t, strings.Join(exceeds(), ""), " 51 do not fit", "at once again")
	})
}

// TestAnotherCauseIsLoggedAtOnce changes what is wrong with an object, and then only a number.
func TestAnotherCauseIsLoggedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := pipelinetest.New()
		lines := linesOf(t, src, budget.All{})
		with := func(cidr string) *networkingv1.NetworkPolicy {
			p := faulty(0)
			p.Spec.Ingress[0].From[0].IPBlock.CIDR = cidr
			return p
		}
		src.Put(with("none"))
		require.Len(t, lines(), 1)
		src.Put(with("10.0.0.0/33"))
		require.Len(t, lines(), 1, "another cause")
		src.Put(with("10.0.0.0/34"))
		require.Empty(t, lines(), "another number")
		src.Put(with("10.0.0.0/8"))
		time.Sleep(time.Hour)
		require.Empty(t, lines(), "it is gone")
	})
}

// TestVeryManyProblemsAreCounted has a thousand problems come at once.
func TestVeryManyProblemsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := pipelinetest.New()
		lines := linesOf(t, src, budget.All{})
		for i := range 1000 {
			src.Put(faulty(i))
		}
		require.Len(t, lines(), 100)
		time.Sleep(time.Minute)
		require.Equal(t, []string{"further problems in source objects: see /debug/problemsmap[problems:900]"}, lines())
		src.Put(faulty(1000))
		require.Len(t, lines(), 1)
	})
}
