package readiness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/pkg/feedback"
)

// writeTimeout is how long a write may take.
const writeTimeout = 15 * time.Second

// pods is the resource to which conditions are written.
var pods = corev1.SchemeGroupVersion.WithResource("pods")

// request is what refused permissions name.
const request = "patch pods/status"

// writeAll writes conditions. After an error that concerns all pods only one of them is tried until that succeeds.
func (c *Controller) writeAll(ctx context.Context, all []decision) {
	c.mu.Lock()
	if time.Now().Before(c.retry) {
		all = nil
	}
	trial := c.fault != nil
	c.mu.Unlock()
	if trial && len(all) > 0 {
		if !c.write(ctx, all[0]) {
			return
		}
		all = all[1:]
	}
	var group errgroup.Group
	var stop atomic.Bool
	group.SetLimit(writers)
	for _, d := range all {
		group.Go(func() error {
			if !stop.Load() && !c.write(ctx, d) {
				stop.Store(true)
			}
			return nil
		})
	}
	_ = group.Wait() // write has recorded the error
}

// write writes a condition. It returns false if the other conditions cannot be written either.
func (c *Controller) write(ctx context.Context, d decision) bool {
	c.mu.Lock()
	key, uid, wait := d.pod.key, d.pod.uid, time.Now().Before(d.pod.retry)
	c.mu.Unlock()
	if wait {
		return true
	}
	version, err := c.patch(ctx, key.Namespace, key.Name, uid, &d)
	if errors.Is(err, context.Canceled) {
		return false
	}
	c.opts.Metrics.WrotePod(feedback.Result(err))
	c.refused.Note(request, err)
	c.mu.Lock()
	defer c.mu.Unlock()
	log := c.opts.Log.WithFields(logrus.Fields{"pod": key.String(), "condition": string(c.opts.Gate)})
	switch {
	case err == nil:
		d.pod.status, d.pod.written, d.pod.marks, d.pod.waits = d.status, version, nil, time.Time{}
		if c.pods[key] == d.pod {
			c.sort(d.pod)
		}
		if c.fault != nil {
			c.opts.Log.Info("conditions of pods can be written again")
		}
		c.fault, c.retry, c.pause = nil, time.Time{}, 0
		return true
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // it is gone, or another pod has its name: an event follows
		d.pod.retry = time.Now().Add(retryMax)
		return true
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		d.pod.retry = time.Now().Add(retryMax)
		log.WithError(err).Warn("the API does not accept the condition of a pod, which stays unready")
		return true
	default:
		if c.fault == nil {
			log.WithError(err).Error("conditions of pods cannot be written: pods with the readiness gate stay as they are")
		}
		c.pause = min(max(2*c.pause, retryMin), retryMax)
		c.fault, c.retry = err, time.Now().Add(c.pause)
		return false
	}
}

// patch is what is written to a pod: one condition.
type patch struct {
	Metadata struct {
		UID types.UID `json:"uid"`
	} `json:"metadata"`
	Status struct {
		Conditions [1]condition `json:"conditions"`
	} `json:"status"`
}

// condition has the fields of a corev1.PodCondition that are set.
type condition struct {
	Type               corev1.PodConditionType `json:"type"`
	Status             corev1.ConditionStatus  `json:"status"`
	Reason             string                  `json:"reason"`
	Message            string                  `json:"message"`
	LastTransitionTime metav1.Time             `json:"lastTransitionTime"`
}

// patch writes a condition to the pod of a UID, and returns the version of the result. Only metadata is answered: the rest of the pod is of no
// use here, and reading it would cost more than writing.
func (c *Controller) patch(ctx context.Context, namespace, name string, uid types.UID, d *decision) (uint64, error) {
	var p patch
	p.Metadata.UID = uid
	p.Status.Conditions[0] = condition{c.opts.Gate, d.status, d.reason, d.message, feedback.Now()}
	raw, err := json.Marshal(&p)
	if err != nil {
		return 0, fmt.Errorf("write the condition of pod %s/%s: %w", namespace, name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	got, err := c.opts.Client.Resource(pods).Namespace(namespace).Patch(ctx, name, types.StrategicMergePatchType, raw,
		metav1.PatchOptions{FieldManager: feedback.FieldManager}, "status")
	if err != nil {
		return 0, fmt.Errorf("write the condition of pod %s/%s: %w", namespace, name, err)
	}
	version, _ := strconv.ParseUint(got.ResourceVersion, 10, 64) // 0 if versions are not numbers
	return version, nil
}
