package upstreams

// Limit sets how many clusters can join. It has to be called before Run.
func (r *Registry) Limit(clusters int) { r.most = clusters }
