package daemon

import (
	"fmt"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/inputs/retention"
	"github.com/netloom/netloom/pkg/object"
)

// kept lists what is kept now.
func (d *Daemon) kept() retention.Kept {
	var all []retention.KeptObject
	for _, k := range d.pipeline.Kept() {
		all = append(all, retention.KeptIn("", []object.Ref{k.Ref})...)
	}
	return retention.NewKept(append(all, d.keptInTargets()...))
}

// approve treats a digest as consent to remove what is kept now.
func (d *Daemon) approve(digest, by string) (retention.Kept, error) {
	now := d.kept()
	switch {
	case now.Digest == "":
		return now, fmt.Errorf("%s: nothing is kept", digest)
	case digest != now.Digest:
		return now, fmt.Errorf("%s: the kept objects have changed, there are %d now: review them, then approve %s",
			digest, len(now.Objects), now.Digest)
	}
	var remembered []object.Ref
	inTarget := map[string][]object.Ref{}
	for _, k := range now.Objects {
		if k.Target == "" {
			remembered = append(remembered, k.Ref())
		} else {
			inTarget[k.Target] = append(inTarget[k.Target], k.Ref())
		}
		d.log.WithFields(logrus.Fields{"object": k.String(), "digest": digest, "by": by}).Warn("the removal of a missing object is approved")
	}
	if len(remembered) > 0 {
		d.pipeline.Approve(remembered)
	}
	for _, t := range d.targets {
		t.loop.Release(inTarget[t.Name])
	}
	if d.sdwan != nil {
		d.sdwan.Release(inTarget)
	}
	return now, nil
}
