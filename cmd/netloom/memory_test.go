package main

import (
	"errors"
	"io"
	"math"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
)

func TestMemoryLimit(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	unknown := func() (uint64, error) { return 0, errors.New("no cgroup") }
	unlimited := func() (uint64, error) { return 0, memlimit.ErrNoLimit }
	for _, tc := range []struct {
		name     string
		provider memlimit.Provider
		env      string
		want     int64
	}{
		{"most of the container's limit", memlimit.Limit(1 << 30), "", 966367641},
		{"no limit", unlimited, "", math.MaxInt64},
		{"an unknown limit", unknown, "", math.MaxInt64},
		{"a limit that the user has set", memlimit.Limit(1 << 30), "off", math.MaxInt64},
	} {
		t.Run(tc.name, func(t *testing.T) {
			defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
			if tc.env != "" {
				t.Setenv("GOMEMLIMIT", tc.env)
			}
			limitMemory(log, tc.provider)
			require.Equal(t, tc.want, debug.SetMemoryLimit(-1))
		})
	}
}

// TestWhatCollectsLessGarbage names the commands that answer once.
func TestWhatCollectsLessGarbage(t *testing.T) {
	for _, tc := range []struct {
		args []string
		set  string
		want int
	}{
		{[]string{"probe", "-f", "x", "a->b:80"}, "", answerGC},
		{[]string{"probe", "-f", "x", "a->b:80"}, "50", 0},
		{[]string{"run"}, "", 0},
		{[]string{"gateway"}, "", 0},
		{[]string{"no-such-command"}, "", 0},
	} {
		require.Equal(t, tc.want, gcPercent(newRoot(), tc.args, tc.set), "%q %s", tc.args, tc.set)
	}
}
