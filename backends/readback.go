package backends

// ReadBack is why a plan was made from everything that a backend owns in its target, read back. A plan from changes has none.
type ReadBack string

// The reasons for a read-back.
const (
	// ReadBackStart is the first plan of a run.
	ReadBackStart ReadBack = "start"
	// ReadBackError follows a round that failed.
	ReadBackError ReadBack = "error"
	// ReadBackInterval is the regular check for drift.
	ReadBackInterval ReadBack = "interval"
	// ReadBackForeignChange follows a change by someone else that the backend noticed.
	ReadBackForeignChange ReadBack = "foreign-change"
	// ReadBackKept is for rows that are kept although their objects are missing, and for their release.
	ReadBackKept ReadBack = "kept"
	// ReadBackReconnect follows a new connection, which may be to another copy of the target.
	ReadBackReconnect ReadBack = "reconnect"
	// ReadBackFamilies follows the first endpoint of an address family, or the last.
	ReadBackFamilies ReadBack = "families"
	// ReadBackUnavailable is for kinds that became unavailable or available.
	ReadBackUnavailable ReadBack = "unavailable"
	// ReadBackPorts is for logical ports whose names or owners changed in a way that concerns all of them.
	ReadBackPorts ReadBack = "ports"
	// ReadBackLost is for a backend that cannot continue from its last plan, for a reason of its own.
	ReadBackLost ReadBack = "lost"
)

// ReadBacks lists every reason.
func ReadBacks() []ReadBack {
	return []ReadBack{
		ReadBackStart, ReadBackError, ReadBackInterval, ReadBackForeignChange, ReadBackKept, ReadBackReconnect,
		ReadBackFamilies, ReadBackUnavailable, ReadBackPorts, ReadBackLost,
	}
}
