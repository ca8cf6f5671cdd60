package metrics

// makeHTTP creates the counter of requests that require authentication.
func (m *Metrics) makeHTTP() {
	m.requests = m.counter("netloom_http_requests_total",
		"Requests that require authentication by result: allowed, unauthenticated, forbidden or failed.", "result")
}

// Judged counts a request that requires authentication by its result.
func (m *Metrics) Judged(result string) { m.requests.WithLabelValues(result).Inc() }
