package daemon

// ReviewsAt is where reviews are answered.
func (d *Daemon) ReviewsAt() string { return (*d.webhook.listener.Load()).Addr().String() }

// BreakReviews has the listener of reviews fail.
func (d *Daemon) BreakReviews() error { return (*d.webhook.listener.Load()).Close() }
