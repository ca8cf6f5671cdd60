package daemon

// Refusals are what the API does not let a daemon do.
type Refusals = refusals

// Note takes in what became of a request.
func (r *refusals) Note(what string, err error) { r.note(what, err) }

// Degraded says what is refused.
func (r *refusals) Degraded() []string { return r.degraded() }
