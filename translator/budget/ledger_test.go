package budget

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/object"
)

// book is a ledger with the objects that it is kept for.
type book struct {
	*Ledger

	objects map[object.Ref]account
	sizes   map[string]int
	dirty   map[object.Ref]bool
	set     int // calls of Set
}

// account is what an object costs.
type account struct {
	created metav1.Time
	cost    int64
	terms   []string
}

func newBook(shares Shares) *book {
	b := &book{objects: map[object.Ref]account{}, sizes: map[string]int{}, dirty: map[object.Ref]bool{}}
	b.Ledger = NewLedger(shares, func(term string) int { return b.sizes[term] }, func(ref object.Ref) { b.dirty[ref] = true })
	return b
}

func ref(namespace string, i int) object.Ref {
	return object.Ref{Kind: object.KindNetworkPolicy, Namespace: namespace, Name: fmt.Sprintf("p%03d", i)}
}

func (b *book) put(ref object.Ref, age int, cost int64, terms ...string) {
	b.objects[ref] = account{metav1.NewTime(time.Unix(int64(age), 0)), cost, terms}
	b.dirty[ref] = true
}

func (b *book) remove(ref object.Ref) {
	delete(b.objects, ref)
	b.dirty[ref] = true
}

func (b *book) resize(term string, endpoints int) {
	b.sizes[term] = endpoints
	b.Resize(term, endpoints)
}

// balance has the standings of all objects found.
func (b *book) balance() {
	for {
		for len(b.dirty) > 0 {
			var refs []object.Ref
			for ref := range b.dirty {
				refs = append(refs, ref)
			}
			slices.SortFunc(refs, func(x, y object.Ref) int {
				return cmp.Or(b.objects[x].created.Compare(b.objects[y].created.Time), x.Compare(y))
			})
			clear(b.dirty)
			for _, ref := range refs {
				o, ok := b.objects[ref]
				if !ok {
					b.Remove(ref)
				} else if b.Standing(ref, o.created) != Beyond {
					b.set++
					b.Set(ref, o.cost, o.terms)
				}
			}
		}
		if b.Settle(); len(b.dirty) == 0 {
			return
		}
	}
}

// within lists the objects that fit in.
func (b *book) within() []object.Ref {
	var out []object.Ref
	for ref := range b.objects {
		if b.entries[ref].standing == Within {
			out = append(out, ref)
		}
	}
	slices.SortFunc(out, object.Ref.Compare)
	return out
}

// expected finds the same from scratch, by trying.
func (b *book) expected() []object.Ref {
	byNamespace := map[string][]object.Ref{}
	for ref := range b.objects {
		byNamespace[ref.Namespace] = append(byNamespace[ref.Namespace], ref)
	}
	costs := map[string][]int64{} // of the oldest, the two oldest, …
	for ns, refs := range byNamespace {
		slices.SortFunc(refs, func(x, y object.Ref) int {
			return cmp.Or(b.objects[x].created.Compare(b.objects[y].created.Time), x.Compare(y))
		})
		cost, seen := int64(0), map[string]bool{}
		for _, ref := range refs {
			cost += b.objects[ref].cost
			for _, term := range b.objects[ref].terms {
				if !seen[term] {
					cost += int64(b.sizes[term]) * matchWeight
				}
				seen[term] = true
			}
			costs[ns] = append(costs[ns], cost)
		}
	}
	limit := min(b.shares.Namespace, b.shares.Total)
	for ; limit > 0; limit-- { // the largest limit with which the wishes of all up to it are within the total
		sum := int64(0)
		for _, c := range costs {
			sum += min(c[len(c)-1], limit)
		}
		if sum <= b.shares.Total {
			break
		}
	}
	var out []object.Ref
	for ns, c := range costs {
		for i, cost := range c {
			if cost <= limit {
				out = append(out, byNamespace[ns][i])
			}
		}
	}
	slices.SortFunc(out, object.Ref.Compare)
	return out
}

func TestTheNewestOfANamespaceDoNotFitIn(t *testing.T) {
	b := newBook(Shares{Namespace: 100, Total: 1000})
	for i := range 10 {
		b.put(ref("flood", i), i, 30)
	}
	b.put(ref("shop", 0), 20, 90)
	b.balance()
	require.Equal(t, []object.Ref{ref("flood", 0), ref("flood", 1), ref("flood", 2), ref("shop", 0)}, b.within())
	require.Equal(t, Next, b.entries[ref("flood", 3)].standing)
	require.Equal(t, 5, b.set, "others need not be known")
	drafts := b.overdrafts()
	require.Equal(t, &overdraft{Namespace: "flood", Limit: 100, Use: 90, Refused: 7, Largest: ref("flood", 0), Most: 30}, drafts["flood"])
	require.Nil(t, drafts["shop"])
	require.Empty(t, b.overdrafts())

	b.put(ref("flood", 9), 9, 1)
	b.balance()
	require.Len(t, b.within(), 4, "a small one is no exception")
	b.remove(ref("flood", 1))
	b.balance()
	require.Equal(t, []object.Ref{ref("flood", 0), ref("flood", 2), ref("flood", 3), ref("shop", 0)}, b.within())
	b.put(ref("flood", 0), 0, 10)
	b.put(ref("flood", 2), 2, 10)
	b.balance()
	require.Len(t, b.within(), 5)
}

func TestNamespacesThatWantLittleGetItAll(t *testing.T) {
	b := newBook(Shares{Namespace: 100, Total: 150})
	for i := range 10 {
		b.put(ref("a", i), i, 10)
		b.put(ref("b", i), i, 10)
	}
	b.put(ref("c", 0), 99, 30)
	b.balance()
	require.Len(t, b.within(), 6+6+1, "120 for two")
	require.True(t, b.overdrafts()["a"].ByTotal)
	for i := range 10 {
		b.remove(ref("b", i))
	}
	b.balance()
	require.Len(t, b.within(), 10+1)
}

func TestASelectorCostsANamespaceOnce(t *testing.T) {
	b := newBook(Shares{Namespace: 3000, Total: 100_000})
	b.resize("all", 64)
	b.put(ref("shop", 0), 0, 100, "all")
	b.put(ref("shop", 1), 1, 100, "all", "all")
	b.put(ref("shop", 2), 2, 1700, "other")
	b.balance()
	require.Len(t, b.within(), 3)
	b.resize("other", 64)
	b.balance()
	require.Len(t, b.within(), 2)
	b.resize("all", 0)
	b.balance()
	require.Len(t, b.within(), 3)
	b.resize("all", 256)
	b.balance()
	require.Empty(t, b.within())
	b.put(ref("shop", 0), 0, 100)
	b.balance()
	require.Len(t, b.within(), 1)
	for i := range 3 {
		b.remove(ref("shop", i))
	}
	b.balance()
	require.Zero(t, b.Len())
	require.Zero(t, b.use)
	require.Zero(t, b.whole)
}

// TestWhatFitsInDependsOnNothingElse changes objects at random and compares with what is found from scratch.
func TestWhatFitsInDependsOnNothingElse(t *testing.T) {
	const objects, namespaces = 12, 5
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := newBook(Shares{Namespace: 4000, Total: 9000})
		for step := range 120 {
			for range 1 + r.IntN(4) {
				o := ref(fmt.Sprint("ns", r.IntN(namespaces)), r.IntN(objects))
				switch r.IntN(5) {
				case 0:
					b.remove(o)
				case 1:
					b.resize(fmt.Sprint("t", r.IntN(6)), 64*r.IntN(2)*(1+r.IntN(2)))
				default:
					var terms []string
					for range r.IntN(3) {
						terms = append(terms, fmt.Sprint("t", r.IntN(6)))
					}
					b.put(o, r.IntN(20), int64(r.IntN(900)), terms...)
				}
			}
			b.balance()
			require.Equal(t, b.expected(), b.within(), "seed %d, step %d", seed, step)
			require.LessOrEqual(t, b.use, b.shares.Total)
		}
		for o := range b.objects {
			b.remove(o)
		}
		b.balance()
		require.Zero(t, b.Len(), "seed %d", seed)
	}
}

func TestAFloodIsTranslatedOnlyInPart(t *testing.T) {
	b := newBook(Shares{Namespace: 1000, Total: 2000})
	for ns := range 50 {
		for i := range 100 {
			b.put(ref(fmt.Sprint("ns", ns), i), i, 10)
		}
	}
	b.balance()
	require.Len(t, b.within(), 200)
	require.Less(t, b.set, 3000, "most of the 5,000 are never looked at")
	require.LessOrEqual(t, b.use, int64(2000))
}

func TestSharesOfAProcess(t *testing.T) {
	require.Equal(t, SharesOf(Unlimited), SharesOf(0))
	require.Equal(t, SharesOf(0), All{}.WithDefaults())
	s := SharesOf(1 << 30)
	require.Equal(t, int64(64<<20), s.Policies.Namespace)
	require.Equal(t, int64(512<<20), s.Policies.Total)
	require.Less(t, s.Policies.Total+s.Services.Total+s.Pods.Total, int64(1<<30))
}
