package budget

// Shares bounds what the objects of one kind may cost together, in bytes as estimated by Account.Cost. Zero means the share of
// SharesOf without a memory limit.
type Shares struct {
	Namespace int64 // of the objects of one namespace, or of all cluster-wide objects
	Total     int64 // of all objects
}

// All bounds what there is of each.
type All struct {
	Policies, Services Shares
	Pods               Shares // those with more labels and named ports than any reasonable pod
	Peers              Shares // pods and namespaces of other clusters; Namespace is that of one cluster
}

// Unlimited is the memory for which budgets are sized if there is no limit.
const Unlimited = 4 << 30

// SharesOf returns the shares of a process that may use that much memory, in bytes; 0 or less is Unlimited. What is left is
// for the objects themselves, for pods, and for plans.
func SharesOf(memory int64) All {
	if memory <= 0 {
		memory = Unlimited
	}
	return All{
		Policies: Shares{Namespace: memory / 16, Total: memory / 2},
		Services: Shares{Namespace: memory / 32, Total: memory / 8},
		Pods:     Shares{Namespace: memory / 32, Total: memory / 8},
		Peers:    Shares{Namespace: memory / 8, Total: memory / 16 * 3},
	}
}

// withDefaults replaces zeros.
func (s Shares) withDefaults(d Shares) Shares {
	if s.Namespace == 0 {
		s.Namespace = d.Namespace
	}
	if s.Total == 0 {
		s.Total = d.Total
	}
	return s
}

// WithDefaults replaces zeros by the shares of SharesOf without a memory limit.
func (a All) WithDefaults() All {
	d := SharesOf(0)
	return All{a.Policies.withDefaults(d.Policies), a.Services.withDefaults(d.Services), a.Pods.withDefaults(d.Pods), a.Peers.withDefaults(d.Peers)}
}

// weights is about how many bytes one of each unit takes in memory, from the translator to the transaction of a database.
// Measured with many objects of one unit each, and rounded up; see docs/security.md.
func weights() [units]int64 {
	return [units]int64{
		Prefixes: 300, Selectors: 2 << 10, Values: 200, Rules: 2 << 10, Ports: 200, Frontends: 1 << 10, Backends: 260, Labels: 700,
	}
}

const (
	// objectWeight is what each object takes.
	objectWeight = 2 << 10
	// matchWeight is what each endpoint takes that a selector matches.
	matchWeight = 16
)

// Estimate is the cost of an object with n of a unit.
func Estimate(u Unit, n int) int64 { return objectWeight + weights()[u]*int64(n) }

const (
	// remoteWeight is what a pod or namespace of another cluster takes, and remoteItemWeight each of its labels, named ports and addresses.
	remoteWeight     = 1 << 10
	remoteItemWeight = 32
	// remoteLabelWeight is what a label of objects of another cluster takes besides its text, once for all objects of the cluster that
	// have it.
	remoteLabelWeight = 3 << 8
)

// EstimateRemote is the cost of a pod or namespace of another cluster with that many labels, named ports and addresses, and bytes of text in
// the latter two. What its labels are is not part of it, see EndpointsOfLabel.
func EstimateRemote(items, text int) int64 {
	return remoteWeight + remoteItemWeight*int64(items) + int64(text)
}

// EndpointsOfLabel is how many endpoints a term of a ledger matches that costs as much as a label of objects of another cluster.
func EndpointsOfLabel(label string) int {
	return (remoteLabelWeight + len(label) + matchWeight - 1) / matchWeight
}

// Cost estimates how many bytes the object takes. If it is over its budget, that is what is left of it.
func (a *Account) Cost() int64 {
	cost := int64(objectWeight)
	if a.over != nil {
		return cost
	}
	for u, w := range weights() {
		cost += w * int64(a.limits[u]-a.left[u])
	}
	return cost
}
