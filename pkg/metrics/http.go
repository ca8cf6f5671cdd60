package metrics

// makeHTTP makes the counter of requests that were judged.
func (m *Metrics) makeHTTP() {
	m.requests = m.counter("netloom_http_requests_total",
		"Requests that had to show who sends them, by what came of it: allowed, unauthenticated, forbidden or failed.", "result")
}

// Judged counts a request by its result.
func (m *Metrics) Judged(result string) { m.requests.WithLabelValues(result).Inc() }
