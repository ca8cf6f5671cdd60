package backendtest

import (
	"net/netip"
	"testing"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/test/seeds"
)

// Target is one target system under test. Its content survives the backends that write to it.
type Target interface {
	// Open makes a backend that writes as owner, like a new process would. The backends of one owner follow each other,
	// those of different owners run side by side.
	Open(t testing.TB, owner string) backends.Backend
	// Dump formats everything that the owners have written. Equal contents give equal bytes, however and whenever they
	// were written.
	Dump(t testing.TB) string
	// DumpOwner formats what one owner has written, likewise.
	DumpOwner(t testing.TB, owner string) string
	// Verdict judges a flow only from the native rows. Flows between equal addresses never reach a target: they are
	// allowed. A flow that is balanced arrives at the endpoint that has the backend's address, as of the last Prepare.
	//
	// Flow.Node is always a node that was prepared and that the rows know, or "" if no choice depends on it. A target
	// that does not model nodes ignores it: its backend skips the load balancers whose choice depends on the node.
	Verdict(t testing.TB, f intent.Flow) Verdict
	// Prepare creates what endpoints and nodes depend on, such as logical ports, and notes which endpoint has which
	// address from now on. It removes nothing. A target that does not need nodes ignores them.
	Prepare(t testing.TB, endpoints []intent.Endpoint, nodes []*intent.Node)
	// AddForeign adds rows that no backend may touch, like those of another network plugin.
	AddForeign(t testing.TB)
	// ForeignIntact reports whether these rows are as AddForeign made them.
	ForeignIntact(t testing.TB) bool
	// Damage applies the n-th kind of damage, counted from 0, to rows of owner behind the backend's back. It returns false
	// if there are no more kinds. A kind that finds nothing to damage returns a Damage without names.
	Damage(t testing.TB, owner string, n int) (Damage, bool)
	// FailAt makes the k-th write transaction from now fail once, leaving no trace; 0 takes that back.
	FailAt(k int)
	// Dangling lists references to missing rows, if the target allows them at all.
	Dangling(t testing.TB) []string
	// Writes counts the write transactions so far.
	Writes(t testing.TB) int
}

// Verdict is the verdict of native rows on a flow. The zero value denies.
type Verdict struct {
	Allowed bool // it arrives, whichever backend is chosen
	// Refused means that it is rejected at once, because its destination has no backends. A flow that is neither
	// allowed nor refused nor sent to a backend is dropped, for whatever reason.
	Refused bool
	// Backends holds, for each backend that the flow may be sent to, whether it arrives there; nil if it is sent to none.
	Backends map[netip.AddrPort]bool
}

// Loser is a target that can lose its answer to a write: the write is done and reported as failed.
type Loser interface {
	// LoseAt loses the answer to the k-th write transaction from now; 0 takes that back.
	LoseAt(k int)
}

// Damage is harm done to a target.
type Damage struct {
	What  string
	Names []string // the only names that the ops of a repair may have
	// Unwatched means that only a read-back finds it: the target does not report it.
	Unwatched bool
}

// Factory makes an empty target for one test.
type Factory func(t testing.TB) Target

// Run tests a backend against the contract.
func Run(t *testing.T, fresh Factory) {
	c := &contract{fresh: fresh, seeds: seeds.Of(t, "contract"), cnf: cnfOf(t, fresh)}
	_, c.stepwise = fresh(t).(Stepwise)
	t.Run("a second plan is empty and writes nothing", c.idempotent)
	t.Run("any order of input gives the same rows", c.anyOrder)
	t.Run("every path to a state gives the same rows", c.paths)
	t.Run("native rows judge every probe as the intents do", c.verdicts)
	t.Run("no write allows or denies what neither state does", c.windows)
	t.Run("a restart sweeps its own orphans and nothing else", c.restart)
	t.Run("a restart with everything in place writes nothing", c.quietRestart)
	t.Run("owners do not touch each other", c.owners)
	t.Run("drift is repaired and only drift", c.drift)
	t.Run("a failure at any write is recovered from", c.faults)
	t.Run("a lost answer to any write is recovered from", c.lostAnswers)
	t.Run("a plan from a revision that was not reached is refused or right", c.lostTrack)
	t.Run("churn of members only mutates", c.churn)
	t.Run("answers of DNS only change addresses", c.answers)
	if c.cnf == nil && !c.stepwise {
		t.Run("churn of backends only mutates", c.backendChurn)
		t.Run("owners do not take a VIP from each other", c.contested)
		t.Run("unavailable load balancers stay", c.unknownBalancers)
	}
	t.Run("what is changed unseen is repaired once it is seen", c.blind)
	t.Run("what cannot be expressed is denied and reported", c.inexpressible)
	t.Run("an object that is refused stops no other", c.refused)
	t.Run("a cancelled context is obeyed", c.cancelled)
	t.Run("only the last to claim writes", c.claims)
	t.Run("an endpoint that appears later joins", c.later)
	t.Run("an empty snapshot removes everything", c.emptied)
	t.Run("a removal leaves nothing", c.removed)
}
