package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/verify"
)

func quiet() logrus.FieldLogger {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return log
}

// exposed is the metrics about disagreements and certainty, one a line.
func exposed(m *sentinelMetrics) string {
	w := httptest.NewRecorder()
	m.handler().ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/metrics", http.NoBody))
	var out []string
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "netloom_verify_disagreements") || strings.HasPrefix(line, "netloom_verify_conclusive") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return strings.Join(out, "; ")
}

func TestMetricsNeverTurnDoubtIntoZero(t *testing.T) {
	const opens, closes = `netloom_verify_disagreements{effect="opens"} `, `netloom_verify_disagreements{effect="closes"} `
	for _, tc := range []struct {
		name   string
		report *verify.Report
		err    error
		want   string
	}{
		{"nothing was compared yet", nil, nil, "netloom_verify_conclusive 0"},
		{"agreement", &verify.Report{Pods: 2}, nil, "netloom_verify_conclusive 1; " + closes + "0; " + opens + "0"},
		{"differences", &verify.Report{Opens: 3, Closes: 1}, nil, "netloom_verify_conclusive 1; " + closes + "1; " + opens + "3"},
		{"the database is gone", nil, errors.New("not connected"), "netloom_verify_conclusive 0"},
		{"objects that cannot be read", &verify.Report{Unknown: []string{"EgressFirewall"}}, nil, "netloom_verify_conclusive 0"},
		{"a difference beside doubt", &verify.Report{Opens: 2, Unknown: []string{"x"}}, nil, "netloom_verify_conclusive 0; " + opens + "2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newSentinelMetrics()
			if tc.report != nil || tc.err != nil {
				ctx, cancel := context.WithCancel(t.Context())
				(&sentinel{
					metrics: m, log: quiet(), interval: time.Hour, changed: func(*verify.Report, error) { cancel() },
					compare: func(context.Context) (*verify.Report, error) { return tc.report, tc.err },
				}).run(ctx)
			}
			require.Equal(t, tc.want, exposed(m))
		})
	}
}

// TestRunReportsWhatChanges loses the database between two comparisons.
func TestRunReportsWhatChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := errors.New("not connected")
		results := []error{nil, nil, lost, lost, nil}
		m := newSentinelMetrics()
		var at []time.Duration
		var seen []string
		began := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		(&sentinel{
			metrics: m, log: quiet(), interval: time.Minute,
			changed: func(_ *verify.Report, err error) {
				at = append(at, time.Since(began))
				seen = append(seen, exposed(m))
			},
			compare: func(context.Context) (*verify.Report, error) {
				if len(results) == 0 {
					cancel()
					return &verify.Report{}, nil
				}
				err := results[0]
				results = results[1:]
				if err != nil {
					return nil, err
				}
				return &verify.Report{Pods: 1}, nil
			},
		}).run(ctx)
		require.Equal(t, []time.Duration{0, 2 * time.Minute, 4 * time.Minute}, at)
		require.Equal(t, "netloom_verify_conclusive 0", seen[1])
		require.Equal(t, seen[0], seen[2])
		require.Contains(t, seen[0], "netloom_verify_conclusive 1")
	})
}
