package feedback

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Now is the time to record in a status, in whole seconds as the API stores it.
func Now() metav1.Time { return metav1.NewTime(time.Now().UTC().Truncate(time.Second)) }

// Wait waits; it returns false if ctx ended first.
func Wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
