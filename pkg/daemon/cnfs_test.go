package daemon_test

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
	"github.com/netloom/netloom/pkg/controller/sdwan"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt/simulator"
)

// holds counts the rules of a device to an address.
func holds(d *simulator.Device, dst string) int {
	return strings.Count(d.Export("mwan3"), "option dest_ip '"+dst+"'")
}

func TestEachPodThatIsReadyHoldsEverything(t *testing.T) {
	inBubble(t, func(r *rig) {
		a, b := r.cnf("cnf-0", "10.0.0.1"), r.cnf("cnf-1", "10.0.0.2")
		c := r.cnf("cnf-2", "10.0.0.3", notReady)
		r.apply(wanPolicy("both"))
		r.apply(wanRule("web", "10.1.0.0/24"))
		r.start()
		require.Equal(t, 1, holds(a, "10.1.0.0/24"))
		require.Equal(t, 1, holds(b, "10.1.0.0/24"))
		require.Empty(t, c.Requests(), "a pod that is not ready is left alone")
		require.InDelta(t, 2, r.metric("netloom_cnfs", "managed"), 0)
		require.InDelta(t, 1, r.metric("netloom_cnfs", "not ready"), 0)
		require.InDelta(t, 0, r.metric("netloom_target_up", "openwrt/site/cnf-2"), 0)

		r.pod("cnf-2", "10.0.0.3")
		r.pod("cnf-1", "10.0.0.2", notReady)
		r.after(2 * time.Second)
		require.Equal(t, 1, holds(c, "10.1.0.0/24"))
		b.Reset()
		r.after(5 * time.Minute)
		require.Empty(t, b.Requests())
		require.True(t, r.counted("openwrt/site/cnf-1"))
	})
}

func TestAPodThatIsAnotherGetsATargetAnew(t *testing.T) {
	for name, change := range map[string]func(*rig){
		"its container was restarted": func(r *rig) {
			r.devices["10.0.0.1"].Restart()
			r.pod("cnf-0", "10.0.0.1", restarted)
		},
		"it is another pod of the name": func(r *rig) {
			r.devices["10.0.0.1"].Recreate()
			r.pod("cnf-0", "10.0.0.1", func(p *corev1.Pod) { p.UID = "another" })
		},
		"its address": func(r *rig) { r.cnf("cnf-0", "10.0.0.9") },
		"its account": func(r *rig) {
			r.secret("account", "password", simulator.DefaultPassword)
			r.pod("cnf-0", "10.0.0.1", func(p *corev1.Pod) { p.Labels["cnf-account-secret"] = "account" })
		},
		"its purpose": func(r *rig) {
			r.pod("cnf-0", "10.0.0.1", func(p *corev1.Pod) { p.Labels[v1alpha1.LabelPurpose] = "other" })
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				made := r.countTargets()
				r.cnf("cnf-0", "10.0.0.1")
				r.apply(wanPolicy("both"))
				r.apply(wanRule("web", "10.1.0.0/24"))
				r.start()
				require.EqualValues(t, 1, made.Load())
				change(r)
				r.after(2 * time.Second)
				require.EqualValues(t, 2, made.Load())
				if name == "its purpose" {
					require.Zero(t, holds(r.devices["10.0.0.1"], "10.1.0.0/24"))
					return
				}
				for addr, d := range r.devices {
					if addr == "10.0.0.9" || len(r.devices) == 1 {
						require.Equal(t, 1, holds(d, "10.1.0.0/24"))
					}
				}
			})
		})
	}
}

// countTargets counts the targets that are made from now on.
func (r *rig) countTargets() *atomic.Int32 {
	made := &atomic.Int32{}
	r.opts.SDWAN.Target = func(d sdwan.Device) (*sdwan.Target, error) {
		made.Add(1)
		return daemon.DeviceTarget(d)
	}
	return made
}

func TestWhatDoesNotMatterStartsNothingAnew(t *testing.T) {
	inBubble(t, func(r *rig) {
		made := r.countTargets()
		r.cnf("cnf-0", "10.0.0.1")
		r.start()
		r.pod("cnf-0", "10.0.0.1", func(p *corev1.Pod) { p.Spec.NodeName = "elsewhere" })
		r.after(5 * time.Minute)
		require.EqualValues(t, 1, made.Load())
	})
}

func TestAPodThatForgetsUnnoticedGetsEverythingWithinAnInterval(t *testing.T) {
	inBubble(t, func(r *rig) {
		d := r.cnf("cnf-0", "10.0.0.1")
		r.apply(wanPolicy("both"))
		r.apply(wanRule("web", "10.1.0.0/24"))
		r.start()
		d.Restart()
		r.after(30 * time.Second)
		require.Equal(t, 1, holds(d, "10.1.0.0/24"))
		require.Contains(t, r.told(), "Warning DriftRepaired the configuration was changed by someone else; ")
		require.InDelta(t, 3, r.metric("netloom_drift_found_total", "openwrt/site/cnf-0"), 0, "policy, rule and reload")
	})
}

// told lists the Events so far.
func (r *rig) told() string {
	var all []string
	for {
		select {
		case e := <-r.events.Events:
			all = append(all, e)
		default:
			return strings.Join(all, "\n")
		}
	}
}

func TestAHangingPodDelaysNobody(t *testing.T) {
	inBubble(t, func(r *rig) {
		a, b := r.cnf("cnf-0", "10.0.0.1"), r.cnf("cnf-1", "10.0.0.2")
		r.apply(wanPolicy("both"))
		r.start()
		a.Hang()
		r.after(35 * time.Second) // it hangs in a read-back
		r.apply(wanRule("web", "10.1.0.0/24"))
		r.after(time.Second)
		require.Equal(t, 1, holds(b, "10.1.0.0/24"))
		c := r.cnf("cnf-2", "10.0.0.3")
		r.pod("cnf-0", "10.0.0.1", restarted) // the old target is waited for
		r.after(time.Second)
		require.Equal(t, 1, holds(c, "10.1.0.0/24"))
		a.Resume()
		r.after(35 * time.Second)
		require.Equal(t, 1, holds(a, "10.1.0.0/24"))
	})
}

func TestTheMetricsOfAPodGoWithIt(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.cnf("cnf-0", "10.0.0.1")
		r.cnf("cnf-1", "10.0.0.2", notReady)
		r.start()
		require.True(t, r.counted("openwrt/site/cnf-0") && r.counted("openwrt/site/cnf-1"))
		for _, name := range []string{"cnf-0", "cnf-1"} {
			p := &corev1.Pod{}
			p.Namespace, p.Name = "site", name
			r.source.Remove(p)
		}
		r.after(2 * time.Second)
		require.False(t, r.counted("openwrt/site/cnf-0") || r.counted("openwrt/site/cnf-1"))
		r.cnf("cnf-0", "10.0.0.1")
		r.after(2 * time.Second)
		require.InDelta(t, 1, r.metric("netloom_target_up", "openwrt/site/cnf-0"), 0)
	})
}

func TestWithoutACertificateAPodIsLeftAloneUnlessHTTPIsAllowed(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.opts.SDWAN.PlainHTTP = false
		d := r.cnf("cnf-0", "10.0.0.1")
		r.apply(wanPolicy("both"))
		r.apply(wanRule("web", "10.1.0.0/24"))
		r.start()
		require.Zero(t, d.Connections())
		require.Contains(t, r.rule("web").Status.Message, "pod cnf-0: the pod names no Secret with a certificate")
	})
}

func certified(p *corev1.Pod) { p.Labels["cnf-cert-secret"] = "tls" }

func TestACertificateIsHeldAgainstTheSecretAndFollowsIt(t *testing.T) {
	inBubble(t, func(r *rig) {
		secure := func() *simulator.Device {
			d, err := simulator.New(simulator.Options{TLS: true, NoLeak: true, Names: []string{"10-0-0-1.site.pod.cluster.local"}})
			require.NoError(t, err)
			r.others = append(r.others, d)
			return d
		}
		before, after := secure(), secure()
		r.place("10.0.0.1", before)
		r.opts.SDWAN.PlainHTTP = false
		r.cnf("cnf-0", "10.0.0.1", certified)
		r.apply(wanPolicy("both"))
		r.apply(wanRule("web", "10.1.0.0/24"))
		r.start()
		require.Contains(t, r.rule("web").Status.Message, "there is no such Secret")
		r.secret("tls", "ca.crt", string(before.CA()))
		r.after(time.Minute)
		require.Equal(t, 1, holds(before, "10.1.0.0/24"), r.rule("web").Status.Message)

		before.Drop()
		r.place("10.0.0.1", after)
		r.after(2 * time.Minute)
		require.Zero(t, holds(after, "10.1.0.0/24"), "another CA signed it")
		require.Equal(t, v1alpha1.Applying, r.rule("web").Status.State)
		r.secret("tls", "ca.crt", string(after.CA()))
		r.after(time.Minute)
		require.Equal(t, 1, holds(after, "10.1.0.0/24"))
		require.Equal(t, v1alpha1.InSync, r.rule("web").Status.State)
	})
}

func TestAPasswordIsReadAtEachLogin(t *testing.T) {
	inBubble(t, func(r *rig) {
		d, err := simulator.New(simulator.Options{Strict: true, NoLeak: true})
		require.NoError(t, err)
		r.place("10.0.0.1", d)
		r.secret("account", "password", "wrong")
		r.cnf("cnf-0", "10.0.0.1", func(p *corev1.Pod) { p.Labels["cnf-account-secret"] = "account" })
		r.apply(wanPolicy("both"))
		r.apply(wanRule("web", "10.1.0.0/24"))
		r.start()
		require.Contains(t, r.rule("web").Status.Message, "the device rejects the login")
		r.secret("account", "password", simulator.DefaultPassword)
		r.after(time.Minute)
		require.Equal(t, 1, holds(d, "10.1.0.0/24"))
	})
}

func TestAStopWaitsForWritesAndLeavesEverything(t *testing.T) {
	inBubble(t, func(r *rig) {
		d := r.cnf("cnf-0", "10.0.0.1")
		r.apply(wanPolicy("both"))
		r.apply(wanRule("web", "10.1.0.0/24"))
		r.start()
		before := d.Export()
		r.stop()
		require.Equal(t, before, d.Export())
	})
}

func TestATargetThatCannotBeMadeIsTriedAgain(t *testing.T) {
	inBubble(t, func(r *rig) {
		var mended atomic.Bool
		r.opts.SDWAN.Target = func(d sdwan.Device) (*sdwan.Target, error) {
			if !mended.Load() {
				return nil, errors.New("no backend")
			}
			return daemon.DeviceTarget(d)
		}
		d := r.cnf("cnf-0", "10.0.0.1")
		r.apply(wanPolicy("both"))
		r.apply(wanRule("web", "10.1.0.0/24"))
		r.start()
		require.Equal(t, "pod cnf-0: no backend", r.rule("web").Status.Message)
		mended.Store(true)
		r.after(time.Minute)
		require.Equal(t, 1, holds(d, "10.1.0.0/24"))
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
		r.opts.SDWAN.Target = func(d sdwan.Device) (*sdwan.Target, error) {
			made.Add(1)
			return &sdwan.Target{Backend: slow{&at}}, nil
		}
		r.cnf("cnf-0", "10.0.0.1")
		r.start()
		for i := range 3 {
			r.pod("cnf-0", "10.0.0.1", func(p *corev1.Pod) { p.UID = types.UID(strings.Repeat("x", i+1)) })
			r.after(2 * time.Second)
		}
		r.after(time.Minute)
		require.Positive(t, made.Load())
	})
}
