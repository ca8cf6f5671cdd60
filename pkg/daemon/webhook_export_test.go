package daemon

// ReviewsAt returns the address where reviews are answered; "" if there is no listener.
func (d *Daemon) ReviewsAt() string {
	if l := d.webhook.listener.Load(); l != nil {
		return (*l).Addr().String()
	}
	return ""
}

// BreakReviews makes the listener of reviews fail.
func (d *Daemon) BreakReviews() error { return (*d.webhook.listener.Load()).Close() }
