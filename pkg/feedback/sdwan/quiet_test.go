package sdwan_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/sdwan/sdwantest"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// reloadedAt lets time pass in steps of a tenth of a second, makes the changes that are due, and returns when the device reloaded a service.
func (r *rig) reloadedAt(d *simulator.Device, lasts time.Duration, changes int, every time.Duration, change func(int)) []time.Duration {
	const step = 100 * time.Millisecond
	var out []time.Duration
	done := 0
	d.Reset()
	for now := time.Duration(0); now < lasts; now += step {
		if done < changes && now >= time.Duration(done)*every {
			change(done)
			done++
		}
		r.After(step)
		for range len(d.Actions()) - len(out) {
			out = append(out, now)
		}
	}
	return out
}

// requireApart demands that a service is left alone for five seconds after each reload.
func requireApart(t *testing.T, reloads []time.Duration) {
	t.Helper()
	for i := 1; i < len(reloads); i++ {
		require.GreaterOrEqual(t, reloads[i]-reloads[i-1], 4900*time.Millisecond, "%v", reloads)
	}
}

// TestChangesAndReloads has changes come one after the other, with pauses of any length: the first is in effect at once, and after each reload
// the others are gathered for five seconds.
func TestChangesAndReloads(t *testing.T) {
	for _, every := range []time.Duration{300 * time.Millisecond, time.Second, 1200 * time.Millisecond, 2500 * time.Millisecond} {
		t.Run(every.String(), func(t *testing.T) {
			inBubble(t, func(r *rig) {
				d := r.CNF("cnf-0", "10.0.0.1")
				r.Apply(sdwantest.Policy("both"))
				r.start()
				r.After(time.Minute)
				const changes = 10
				reloads := r.reloadedAt(d, changes*every+6*time.Second, changes, every, func(i int) {
					r.Apply(sdwantest.Rule(fmt.Sprintf("r-%d", i), fmt.Sprintf("10.%d.0.0/16", i)))
				})
				require.Less(t, reloads[0], 500*time.Millisecond, "a single change does not wait")
				requireApart(t, reloads)
				require.LessOrEqual(t, len(reloads), 2+int(changes*every/(5*time.Second)))
				for i := range changes {
					require.Equal(t, 1, sdwantest.RulesTo(d, fmt.Sprintf("10.%d.0.0/16", i)))
				}
			})
		})
	}
}

// TestTunnelsThatComeOneByOne has ten of them 1.2 s apart, each of which restarts all of them.
func TestTunnelsThatComeOneByOne(t *testing.T) {
	inBubble(t, func(r *rig) {
		d := r.CNF("cnf-0", "10.0.0.1")
		r.Apply(&v1alpha1.IpsecProposal{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1alpha1.IpsecProposalSpec{
			EncryptionAlgorithm: "aes128", HashAlgorithm: "sha256", DHGroup: "modp2048",
		}})
		r.start()
		r.After(time.Minute)
		reloads := r.reloadedAt(d, 20*time.Second, 10, 1200*time.Millisecond, func(i int) {
			r.Apply(&v1alpha1.IpsecSite{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s-%d", i)}, Spec: v1alpha1.IpsecSiteSpec{
				IpsecPeer: v1alpha1.IpsecPeer{
					Remote: v1alpha1.IpsecText(fmt.Sprintf("192.0.2.%d", i+1)), AuthenticationMethod: "psk", PreSharedKey: "key", CryptoProposal: []v1alpha1.Reference{"p"},
				},
				Connections: []v1alpha1.IpsecSiteConnection{{
					IpsecConnection: v1alpha1.IpsecConnection{Name: "c", ConnType: "tunnel", Mode: "start"}, LocalSubnet: "10.0.0.0/24",
				}},
			}})
		})
		require.Len(t, reloads, 4, "%v", reloads)
		requireApart(t, reloads)
	})
}

// TestChangesThatNeverEnd are written all the same.
func TestChangesThatNeverEnd(t *testing.T) {
	inBubble(t, func(r *rig) {
		d := r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Policy("both"))
		r.start()
		reloads := r.reloadedAt(d, 20*time.Second, 60, 300*time.Millisecond, func(i int) {
			r.Apply(sdwantest.Rule("r", fmt.Sprintf("10.%d.0.0/16", i)))
		})
		require.GreaterOrEqual(t, len(reloads), 3)
		requireApart(t, reloads)
	})
}

// TestRepairsAndReloads has someone change a device all the time, which is repaired at each read-back: the service is still left alone.
func TestRepairsAndReloads(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.Options.Interval = time.Second
		d := r.CNF("cnf-0", "10.0.0.1")
		r.Apply(sdwantest.Policy("both"))
		r.Apply(sdwantest.Rule("r", "10.1.0.0/16"))
		r.start()
		name := regexp.MustCompile(`config rule '([^']*)'`).FindStringSubmatch(d.Export("mwan3"))[1]
		reloads := r.reloadedAt(d, 20*time.Second, 40, 500*time.Millisecond, func(i int) {
			d.SetOption("mwan3", "rule", name, "timeout", strconv.Itoa(i+1))
		})
		require.GreaterOrEqual(t, len(reloads), 3)
		requireApart(t, reloads)
	})
}
