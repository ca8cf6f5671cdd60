package figures

// Published is a figure that was measured before: by netloom, by others that do the same, or both.
type Published struct {
	Pods     int
	Name     string // as Named returns it
	Measured float64
	Floor    float64   // see Figure; 0 if there was none
	Others   [2]string // what each of Others took; "" if that was not measured
}

// Others are the systems beside which figures are shown, each unpatched and at a commit. They were measured in November 2026 with the
// workload of that many pods on one machine and API server, without ovn-northd: only what does not depend on it can be compared.
func Others() [2]string { return [2]string{"ovn-kubernetes 8871cd9ce", "kube-ovn 1533681d7"} }

// LastOVN is the OVN with which the last published figures of netloom were measured, as its programs spell it.
const LastOVN = "23.03"

// Names of figures that are published, without what follows in a run.
const (
	App   = "a pod's app label, which subjects and peers select"
	Tier  = "a pod's tier label, which peers select"
	Gone  = "a policy is deleted"
	Storm = "a storm of 4000 changes"
	Start = "first start"
)

// Last is the figures of netloom in docs/operations.md, on two cores at a load average of 0.5 to 2.8, and those of the others.
func Last() []Published {
	const n = 1000
	return []Published{
		{Pods: n, Name: Start + ", until all rows are committed", Others: [2]string{"1.43 s, 1,745 transactions", "58.9 s, 7,453 transactions"}},
		{Pods: n, Name: Start + ", ACLs", Measured: 119, Others: [2]string{"683; 101 address sets, 242 port groups", "1,808; 802 address sets, 205 port groups"}},
		{Pods: n, Name: Start + ", resident memory", Measured: 28, Others: [2]string{"208 MiB", "155 MiB"}},
		{Pods: n, Name: App + ": from the request to the row, p50", Measured: 8.3, Floor: 7.8},
		{Pods: n, Name: App + ": beyond the event, p50", Measured: 1.8, Floor: 0.9, Others: [2]string{"2.8 ms", "144 ms"}},
		{Pods: n, Name: App + ": rows, median", Measured: 6},
		{Pods: n, Name: App + ": CPU of ovn-northd", Measured: 57, Floor: 0.6},
		{Pods: n, Name: App + ": CPU of ovn-controller", Measured: 7},
		{Pods: n, Name: Tier + ": from the request to the row, p50", Measured: 7.7, Floor: 7.7},
		{Pods: n, Name: Tier + ": beyond the event, p50", Measured: 1, Floor: 0.8, Others: [2]string{"3.9 ms", "78 ms"}},
		{Pods: n, Name: Tier + ": rows, median", Measured: 2},
		{Pods: n, Name: Tier + ": recomputes of ovn-northd"},
		{Pods: n, Name: Tier + ": CPU of ovn-northd", Measured: 0.4, Floor: 0.4},
		{Pods: n, Name: Tier + ": CPU of ovn-controller", Measured: 3},
		{Pods: n, Name: Gone + ": beyond the event, p50", Others: [2]string{"1.28 ms", ""}},
		{Pods: n, Name: "a policy equal to another: rows of ACLs and port groups"},
		{Pods: n, Name: "a policy equal to another: recomputes of ovn-northd"},
		{Pods: n, Name: Storm + ": longest time without a commit", Measured: 63, Floor: 89},
		{Pods: n, Name: Storm + ": rows", Measured: 25304},
		{Pods: n, Name: Storm + ": log of the database", Measured: 3.1, Others: [2]string{"1.83 MB", "8.88 MB"}},
	}
}
