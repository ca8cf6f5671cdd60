package ovn_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/test/await"
)

// another is a further backend of the rig's owner, as another instance would have it.
func (r *rig) another(t *testing.T) (*rig, *test.Hook) {
	t.Helper()
	log, hook := test.NewNullLogger()
	other := *r
	names, err := ovn.ParsePortNames(ovn.DefaultPortNames)
	require.NoError(t, err)
	other.client = r.connect(t, names)
	other.backend, err = ovn.New(other.client, ovn.Options{Owner: "a", Ports: names, Log: log})
	require.NoError(t, err)
	return &other, hook
}

// globals are the external_ids of NB_Global.
func (r *rig) globals(t *testing.T) map[string]string {
	t.Helper()
	rows, err := r.client.Select(t.Context(), "NB_Global", nil, "external_ids")
	require.NoError(t, err)
	require.Len(t, rows, 1)
	return ovsdb.StringMap(rows[0]["external_ids"])
}

// setGlobals replaces them.
func (r *rig) setGlobals(t *testing.T, ids map[string]string) {
	t.Helper()
	rows, err := r.client.Select(t.Context(), "NB_Global", nil)
	require.NoError(t, err)
	op := libovsdb.Operation{Op: "insert", Table: "NB_Global", Row: libovsdb.Row{"external_ids": ovsdb.Map(ids)}}
	if len(rows) > 0 {
		op = ovsdb.Update("NB_Global", ovsdb.String(rows[0]["_uuid"]), op.Row)
	}
	_, err = r.client.Transact(t.Context(), []libovsdb.Operation{op})
	require.NoError(t, err)
}

// open is the shop with another port of its policy open.
func open(port uint16) *backendtest.State {
	s := shop("a")
	s.Policies = []intent.Policy{admit("db", "db", "web", port)}
	return s
}

func TestClaimTouchesItsKeyOnly(t *testing.T) {
	r := newRig(t, ovn.DefaultPortNames)
	generation, err := r.backend.Claim(t.Context(), "pod-1")
	require.NoError(t, err)
	require.Equal(t, uint64(1), generation)
	require.Equal(t, map[string]string{"netloom-claim:a": "1 pod-1"}, r.globals(t), "there was no row")

	r.setGlobals(t, map[string]string{"theirs": "x", "netloom-claim:b": "7 other", "netloom-claim:a": "1 pod-1"})
	generation, err = r.backend.Claim(t.Context(), "pod-1")
	require.NoError(t, err)
	require.Equal(t, uint64(2), generation)
	require.Equal(t, map[string]string{"theirs": "x", "netloom-claim:b": "7 other", "netloom-claim:a": "2 pod-1"}, r.globals(t))
	require.Equal(t, ovn.KeyClaim+"a", "netloom-claim:a")
}

// TestClaimOverRubbish claims databases whose record of claims cannot be parsed, and has rubbish replace it.
func TestClaimOverRubbish(t *testing.T) {
	for _, value := range []string{
		"", " ", "7", "7 ", "-1 x", "0 x", "+7 x", "07 x", "7 x y", "seven x", " 7 x", "7  x", "7 x\n", "7 \x7f", "7 ü",
		"18446744073709551615 x", "18446744073709551616 x", "4611686018427387905 x", "1e3 x", "7\tx",
		"7 " + strings.Repeat("x", 129), strings.Repeat("7", 5000),
	} {
		t.Run(fmt.Sprintf("%.20q", value), func(t *testing.T) {
			r := newRig(t, ovn.DefaultPortNames)
			r.setGlobals(t, map[string]string{"netloom-claim:a": value})
			first, hook := r.another(t)
			generation, err := first.backend.Claim(t.Context(), "pod-1")
			require.NoError(t, err)
			require.Equal(t, uint64(1), generation)
			require.Len(t, hook.AllEntries(), 1)
			require.Less(t, len(hook.LastEntry().Data["value"].(string)), 200)
			require.Equal(t, "1 pod-1", r.globals(t)["netloom-claim:a"])

			snap := open(80).Snapshot()
			first.reconcile(t, snap)
			r.setGlobals(t, map[string]string{"netloom-claim:a": value})
			more := backendtest.Advance(snap, open(81))
			err = first.backend.Apply(t.Context(), first.plan(t, more))
			require.ErrorContains(t, err, "our claim was missing")
			require.NotErrorIs(t, err, backends.ErrDeposed)
			require.Equal(t, "1 pod-1", r.globals(t)["netloom-claim:a"])
			first.reconcile(t, more)
			first.requireSettled(t, more)
		})
	}
}

// TestTheLargestRecordLocksNoInstanceOut claims a database whose record has the largest number there is.
func TestTheLargestRecordLocksNoInstanceOut(t *testing.T) {
	r := newRig(t, ovn.DefaultPortNames)
	for _, step := range []struct {
		value string
		want  uint64
	}{{"4611686018427387902 x", 1<<62 - 1}, {"4611686018427387903 x", 1 << 62}, {"4611686018427387904 x", 1}} {
		r.setGlobals(t, map[string]string{"netloom-claim:a": step.value})
		other, _ := r.another(t)
		generation, err := other.backend.Claim(t.Context(), "pod-1")
		require.NoError(t, err)
		require.Equal(t, step.want, generation, step.value)
		snap := open(80).Snapshot()
		p, err := other.backend.Plan(t.Context(), snap, 0)
		require.NoError(t, err)
		require.NoError(t, other.backend.Apply(t.Context(), p))
	}
}

func TestHolderTextIsSanitized(t *testing.T) {
	for name, want := range map[string]string{
		"":                                    "1 -",
		"netloom-7d9f_3b0c":                   "1 netloom-7d9f_3b0c",
		"two words\n\"ü\x00":                  `1 two_words_"___`,
		strings.Repeat("a", 300) + "-the-end": "1 " + strings.Repeat("a", 120) + "-the-end",
	} {
		r := newRig(t, ovn.DefaultPortNames)
		_, err := r.backend.Claim(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, want, r.globals(t)["netloom-claim:a"])
		snap := open(80).Snapshot()
		r.reconcile(t, snap)
		r.requireSettled(t, snap)
	}
}

// TestClaimsAtOnce has many instances claim at one time. Each gets a number of its own, and the last one may write.
func TestClaimsAtOnce(t *testing.T) {
	r := newRig(t, ovn.DefaultPortNames)
	const n = 8
	instances, numbers := make([]*rig, n), make([]uint64, n)
	for i := range instances {
		instances[i], _ = r.another(t)
	}
	var wait sync.WaitGroup
	for i := range instances {
		wait.Go(func() {
			generation, err := instances[i].backend.Claim(t.Context(), fmt.Sprintf("pod-%d", i))
			numbers[i] = generation
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	require.ElementsMatch(t, []uint64{1, 2, 3, 4, 5, 6, 7, 8}, numbers)
	snap := open(80).Snapshot()
	for i, other := range instances {
		p, err := other.backend.Plan(t.Context(), snap, 0)
		require.NoError(t, err)
		err = other.backend.Apply(t.Context(), p)
		if numbers[i] == n {
			require.NoError(t, err)
			snap = backendtest.Advance(snap, open(81))
			continue
		}
		require.ErrorIs(t, err, backends.ErrDeposed)
	}
}

// TestClaimWhoseAnswerWasLost claims without getting the answer: nothing may be written then, and the next claim counts.
func TestClaimWhoseAnswerWasLost(t *testing.T) {
	r := newRig(t, ovn.DefaultPortNames)
	r.server.FailAt(1, simulator.AfterCommit)
	_, err := r.backend.Claim(t.Context(), "pod-1")
	require.ErrorIs(t, err, ovsdb.ErrUnknownOutcome)
	await.True(t, func() bool { return r.client.Epoch() >= 2 && r.client.Connected() }, "the client is connected again")
	snap := open(80).Snapshot()
	require.ErrorContains(t, r.backend.Apply(t.Context(), r.plan(t, snap)), "not claimed")
	generation, err := r.backend.Claim(t.Context(), "pod-1")
	require.NoError(t, err)
	require.Equal(t, uint64(2), generation)
	r.reconcile(t, snap)
}

// TestClaimNeedsAConnection distinguishes a missing connection from other errors.
func TestClaimNeedsAConnection(t *testing.T) {
	client, err := ovsdb.New(ovsdb.Options{Endpoints: []string{"unix:/nowhere"}})
	require.NoError(t, err)
	names, err := ovn.ParsePortNames(ovn.DefaultPortNames)
	require.NoError(t, err)
	backend, err := ovn.New(client, ovn.Options{Owner: "a", Ports: names})
	require.NoError(t, err)
	_, err = backend.Claim(t.Context(), "pod-1")
	require.ErrorIs(t, err, backends.ErrUnreachable)
}

// TestRefusalNamesTheOp counts operations as the plan does, claimed or not.
func TestRefusalNamesTheOp(t *testing.T) {
	for _, claim := range []bool{false, true} {
		r := newRig(t, ovn.DefaultPortNames)
		if claim {
			_, err := r.backend.Claim(t.Context(), "pod-1")
			require.NoError(t, err)
		}
		p := r.plan(t, open(80).Snapshot())
		at := slices.IndexFunc(p.Ops, func(op backends.Op) bool { return op.Kind == "Address_Set" })
		all, err := ovn.Transactions(p)
		require.NoError(t, err)
		require.Len(t, all, 1)
		_, err = r.client.Transact(t.Context(), all[0][at:at+1])
		require.NoError(t, err)
		err = r.backend.Apply(t.Context(), p)
		var refused *ovsdb.OperationError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, at, refused.Index)
	}
}
