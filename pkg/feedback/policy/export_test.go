package policy

// ManagerOf returns the field manager of a node's netloom.
func ManagerOf(node string) string { return managerOf(node) }

// Intervals of reports.
const (
	SizeInterval = sizeInterval
	StaleAfter   = staleAfter
)
