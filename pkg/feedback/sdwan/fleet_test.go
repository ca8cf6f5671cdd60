package sdwan_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/sdwan"
	"github.com/netloom/netloom/pkg/feedback/sdwan/sdwantest"
	"github.com/netloom/netloom/pkg/intent"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

func TestEachReadyPodGetsEverything(t *testing.T) {
	inBubble(t, func(r *rig) {
		a, b := r.CNF("cnf-0", "10.0.0.1"), r.CNF("cnf-1", "10.0.0.2")
		c := r.CNF("cnf-2", "10.0.0.3", sdwantest.NotReady)
		r.Apply(sdwantest.Policy("both"))
		r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
		r.start()
		require.Equal(t, 1, sdwantest.RulesTo(a, "10.1.0.0/24"))
		require.Equal(t, 1, sdwantest.RulesTo(b, "10.1.0.0/24"))
		require.Empty(t, c.Requests(), "a pod that is not ready is left alone")
		require.InDelta(t, 2, r.Metric("netloom_cnfs", "managed"), 0)
		require.InDelta(t, 1, r.Metric("netloom_cnfs", "not ready"), 0)
		require.InDelta(t, 0, r.Metric("netloom_target_up", "openwrt/site/cnf-2"), 0)

		r.Pod("cnf-2", "10.0.0.3")
		r.Pod("cnf-1", "10.0.0.2", sdwantest.NotReady)
		r.After(2 * time.Second)
		require.Equal(t, 1, sdwantest.RulesTo(c, "10.1.0.0/24"))
		b.Reset()
		r.After(5 * time.Minute)
		require.Empty(t, b.Requests())
		require.True(t, r.Counted("openwrt/site/cnf-1"))
	})
}

func TestAReplacedPodGetsANewTarget(t *testing.T) {
	for name, change := range map[string]func(*rig){
		"its container was restarted": func(r *rig) {
			r.Devices["10.0.0.1"].Restart()
			r.Pod("cnf-0", "10.0.0.1", sdwantest.Restarted)
		},
		"it is another pod of the name": func(r *rig) {
			r.Devices["10.0.0.1"].Recreate()
			r.Pod("cnf-0", "10.0.0.1", func(p *corev1.Pod) { p.UID = "another" })
		},
		"its address": func(r *rig) { r.CNF("cnf-0", "10.0.0.9") },
		"its account": func(r *rig) {
			r.SetSecret("account", "password", simulator.DefaultPassword)
			r.Pod("cnf-0", "10.0.0.1", func(p *corev1.Pod) { p.Labels["cnf-account-secret"] = "account" })
		},
		"its purpose": func(r *rig) {
			r.Pod("cnf-0", "10.0.0.1", func(p *corev1.Pod) { p.Labels[v1alpha1.LabelPurpose] = "other" })
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				made := r.countTargets()
				r.CNF("cnf-0", "10.0.0.1")
				r.Apply(sdwantest.Policy("both"))
				r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
				r.start()
				require.EqualValues(t, 1, made.Load())
				change(r)
				r.After(2 * time.Second)
				require.EqualValues(t, 2, made.Load())
				if name == "its purpose" {
					require.Zero(t, sdwantest.RulesTo(r.Devices["10.0.0.1"], "10.1.0.0/24"))
					return
				}
				for addr, d := range r.Devices {
					if addr == "10.0.0.9" || len(r.Devices) == 1 {
						require.Equal(t, 1, sdwantest.RulesTo(d, "10.1.0.0/24"))
					}
				}
			})
		})
	}
}

// countTargets counts the targets that are made from now on.
func (r *rig) countTargets() *atomic.Int32 {
	made := &atomic.Int32{}
	r.Options.Target = func(d sdwan.Device) (*sdwan.Target, error) {
		made.Add(1)
		return deviceTarget(d)
	}
	return made
}

func TestWhatDoesNotMatterRestartsNothing(t *testing.T) {
	inBubble(t, func(r *rig) {
		made := r.countTargets()
		r.CNF("cnf-0", "10.0.0.1")
		r.start()
		r.Pod("cnf-0", "10.0.0.1", func(p *corev1.Pod) { p.Spec.NodeName = "elsewhere" })
		r.After(5 * time.Minute)
		require.EqualValues(t, 1, made.Load())
	})
}

func TestAPodThatForgetsUnnoticedGetsEverythingWithinAnInterval(t *testing.T) {
	inBubble(t, func(r *rig) {
		d := r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Policy("both"))
		r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
		r.start()
		d.Restart()
		r.After(30 * time.Second)
		require.Equal(t, 1, sdwantest.RulesTo(d, "10.1.0.0/24"))
		require.Contains(t, r.Recorded(), "Warning DriftRepaired the configuration was changed by someone else; ")
		require.InDelta(t, 3, r.Metric("netloom_drift_found_total", "openwrt/site/cnf-0"), 0, "policy, rule and reload")
	})
}

func TestAHangingPodDelaysNoOther(t *testing.T) {
	inBubble(t, func(r *rig) {
		a, b := r.CNF("cnf-0", "10.0.0.1"), r.CNF("cnf-1", "10.0.0.2")
		r.Apply(sdwantest.Policy("both"))
		r.start()
		a.Hang()
		r.After(35 * time.Second) // it hangs in a read-back
		r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
		r.After(time.Second)
		require.Equal(t, 1, sdwantest.RulesTo(b, "10.1.0.0/24"))
		c := r.CNF("cnf-2", "10.0.0.3")
		r.Pod("cnf-0", "10.0.0.1", sdwantest.Restarted) // the old target is waited for
		r.After(time.Second)
		require.Equal(t, 1, sdwantest.RulesTo(c, "10.1.0.0/24"))
		a.Resume()
		r.After(35 * time.Second)
		require.Equal(t, 1, sdwantest.RulesTo(a, "10.1.0.0/24"))
	})
}

func TestTheMetricsOfAPodGoWithIt(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.CNF("cnf-0", "10.0.0.1")
		r.CNF("cnf-1", "10.0.0.2", sdwantest.NotReady)
		r.start()
		require.True(t, r.Counted("openwrt/site/cnf-0") && r.Counted("openwrt/site/cnf-1"))
		for _, name := range []string{"cnf-0", "cnf-1"} {
			p := &corev1.Pod{}
			p.Namespace, p.Name = "site", name
			r.Source.Remove(p)
		}
		r.After(2 * time.Second)
		require.False(t, r.Counted("openwrt/site/cnf-0") || r.Counted("openwrt/site/cnf-1"))
		r.CNF("cnf-0", "10.0.0.1")
		r.After(2 * time.Second)
		require.InDelta(t, 1, r.Metric("netloom_target_up", "openwrt/site/cnf-0"), 0)
	})
}

func TestWithoutACertificateAPodIsLeftAloneUnlessHTTPIsAllowed(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.Options.PlainHTTP = false
		d := r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Policy("both"))
		r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
		r.start()
		require.Zero(t, d.Connections())
		require.Contains(t, r.Rule("web").Status.Message, "pod cnf-0: the pod names no Secret with a certificate")
	})
}

func certified(p *corev1.Pod) { p.Labels["cnf-cert-secret"] = "tls" }

func TestACertificateIsCheckedAgainstTheSecretAndFollowsIt(t *testing.T) {
	inBubble(t, func(r *rig) {
		secure := func() *simulator.Device {
			d, err := simulator.New(simulator.Options{TLS: true, NoLeak: true, Names: []string{"10-0-0-1.site.pod.cluster.local"}})
			require.NoError(t, err)
			r.Own(d)
			return d
		}
		before, after := secure(), secure()
		r.Place("10.0.0.1", before)
		r.Options.PlainHTTP = false
		r.CNF("cnf-0", "10.0.0.1", certified)
		r.Apply(sdwantest.Policy("both"))
		r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
		r.start()
		require.Contains(t, r.Rule("web").Status.Message, "there is no such Secret")
		r.SetSecret("tls", "ca.crt", string(before.CA()))
		r.After(time.Minute)
		require.Equal(t, 1, sdwantest.RulesTo(before, "10.1.0.0/24"), r.Rule("web").Status.Message)

		before.Drop()
		r.Place("10.0.0.1", after)
		r.After(2 * time.Minute)
		require.Zero(t, sdwantest.RulesTo(after, "10.1.0.0/24"), "another CA signed it")
		require.Equal(t, v1alpha1.Applying, r.Rule("web").Status.State)
		r.SetSecret("tls", "ca.crt", string(after.CA()))
		r.After(time.Minute)
		require.Equal(t, 1, sdwantest.RulesTo(after, "10.1.0.0/24"))
		require.Equal(t, v1alpha1.InSync, r.Rule("web").Status.State)
	})
}

func TestAPasswordIsReadAtEachLogin(t *testing.T) {
	inBubble(t, func(r *rig) {
		d, err := simulator.New(simulator.Options{Strict: true, NoLeak: true})
		require.NoError(t, err)
		r.Place("10.0.0.1", d)
		r.SetSecret("account", "password", "wrong")
		r.CNF("cnf-0", "10.0.0.1", func(p *corev1.Pod) { p.Labels["cnf-account-secret"] = "account" })
		r.Apply(sdwantest.Policy("both"))
		r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
		r.start()
		require.Contains(t, r.Rule("web").Status.Message, "the device rejects the login")
		r.SetSecret("account", "password", simulator.DefaultPassword)
		r.After(time.Minute)
		require.Equal(t, 1, sdwantest.RulesTo(d, "10.1.0.0/24"))
	})
}

func TestAStopWaitsForWritesAndLeavesEverything(t *testing.T) {
	inBubble(t, func(r *rig) {
		d := r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Policy("both"))
		r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
		r.start()
		before := d.Export()
		r.stop()
		require.Equal(t, before, d.Export())
	})
}

func TestATargetThatCannotBeMadeIsTriedAgain(t *testing.T) {
	inBubble(t, func(r *rig) {
		var mended atomic.Bool
		r.Options.Target = func(d sdwan.Device) (*sdwan.Target, error) {
			if !mended.Load() {
				return nil, errors.New("no backend")
			}
			return deviceTarget(d)
		}
		d := r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Policy("both"))
		r.Apply(sdwantest.Rule("web", "10.1.0.0/24"))
		r.start()
		require.Equal(t, "pod cnf-0: no backend", r.Rule("web").Status.Message)
		mended.Store(true)
		r.After(time.Minute)
		require.Equal(t, 1, sdwantest.RulesTo(d, "10.1.0.0/24"))
	})
}

// slow is a backend that finishes what it has begun, however long that takes, and is on no device while another one is.
type slow struct{ at *atomic.Int32 }

func (s slow) Plan(context.Context, *intent.Snapshot, intent.Revision) (*backends.Plan, error) {
	if s.at.Add(1) > 1 {
		panic("two targets are at one device")
	}
	time.Sleep(10 * time.Second)
	s.at.Add(-1)
	return &backends.Plan{Full: true}, nil
}

func (slow) Apply(context.Context, *backends.Plan) error { return nil }

func (slow) Close() error { return nil }

func TestTwoTargetsAreNeverAtOneDevice(t *testing.T) {
	inBubble(t, func(r *rig) {
		var at, made atomic.Int32
		r.Options.Target = func(d sdwan.Device) (*sdwan.Target, error) {
			made.Add(1)
			return &sdwan.Target{Backend: slow{&at}}, nil
		}
		r.CNF("cnf-0", "10.0.0.1")
		r.start()
		for i := range 3 {
			r.Pod("cnf-0", "10.0.0.1", func(p *corev1.Pod) { p.UID = types.UID(strings.Repeat("x", i+1)) })
			r.After(2 * time.Second)
		}
		r.After(time.Minute)
		require.Positive(t, made.Load())
	})
}
