package main

import (
	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/sirupsen/logrus"
)

// memoryShare is the share of the container's memory limit for Go. The rest is for memory that its runtime does not
// count.
const memoryShare = 0.9

// limitMemory sets the memory limit of the Go runtime to a share of the limit that provider finds, normally
// memlimit.FromCgroup. Without a limit, or if the user has set GOMEMLIMIT, it changes nothing.
func limitMemory(log logrus.FieldLogger, provider memlimit.Provider) {
	limit, err := memlimit.SetGoMemLimitWithOpts(memlimit.WithRatio(memoryShare), memlimit.WithProvider(provider))
	switch {
	case err != nil:
		log.WithError(err).Debug("memory limit of the container is unknown")
	case limit > 0:
		log.WithField("bytes", limit).Debug("memory limit is set")
	}
}
