package daemon

// ReviewsAt is where reviews are answered; "" as long as nobody listens.
func (d *Daemon) ReviewsAt() string {
	if l := d.webhook.listener.Load(); l != nil {
		return (*l).Addr().String()
	}
	return ""
}

// BreakReviews has the listener of reviews fail.
func (d *Daemon) BreakReviews() error { return (*d.webhook.listener.Load()).Close() }
