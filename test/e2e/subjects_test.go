//go:build e2e

package e2e_test

import (
	"flag"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/e2e/ovnlab"
)

var subjectPorts = flag.Int("subjects.ports", 300, "logical ports of the cluster in which forms of subjects are compared")

// The cluster in which forms are compared: every policy has so many subjects and peers, and the chassis so many ports.
const (
	subjectsEach = 5
	peersEach    = 20
	localPorts   = 20
)

// subjectForm is how the subject of a policy is written: as a port group of its own, as netloom does, or as an address set beside
// one port group of all isolated ports (ADR 20).
type subjectForm struct {
	name      string
	addresses bool
}

func subjectForms() []subjectForm {
	return []subjectForm{{"port groups", false}, {"address sets", true}}
}

// subjectLab is a cluster whose pods are all isolated.
type subjectLab struct {
	*ovnlab.Lab

	form     subjectForm
	ports    []ovnlab.Port
	policies int
}

func newSubjectLab(t *testing.T, form subjectForm, n int) *subjectLab {
	t.Helper()
	s := &subjectLab{Lab: ovnlab.Start(t), form: form, policies: n / subjectsEach}
	for i := range n {
		s.ports = append(s.ports, ovnlab.Port{
			Name: fmt.Sprintf("ns_p%d", i), Addrs: []netip.Addr{netip.AddrFrom4([4]byte{10, 244, byte(i / 250), byte(i%250 + 2)})},
		})
	}
	network, err := ovnlab.NewNetwork(s.ports, nil)
	require.NoError(t, err)
	s.Install(network)
	s.NBCtl(slices.Concat([]string{"pg-add", "isolated"}, s.names(s.ports))...)
	s.NBCtl("--type=port-group", "acl-add", "isolated", "to-lport", "1000", "outport == @isolated && ip", "drop")
	s.NBCtl("--type=port-group", "--apply-after-lb", "acl-add", "isolated", "from-lport", "1000", "inport == @isolated && ip", "drop")
	for i := range s.policies {
		s.addPolicy(i)
	}
	s.Sync()
	return s
}

func (s *subjectLab) names(ports []ovnlab.Port) []string {
	var out []string
	for _, p := range ports {
		out = append(out, p.Name)
	}
	return out
}

func addressesOf(ports []ovnlab.Port) string {
	var out []string
	for _, p := range ports {
		out = append(out, fmt.Sprintf("%q", p.Addrs[0]))
	}
	return "addresses=" + strings.Join(out, ",")
}

// addPolicy lets the next pods in order connect to the subjects of a policy, and these to them.
func (s *subjectLab) addPolicy(i int) {
	subjects := s.ports[i*subjectsEach : (i+1)*subjectsEach]
	var peers []ovnlab.Port
	for j := range peersEach {
		peers = append(peers, s.ports[((i+1)*subjectsEach+j)%len(s.ports)])
	}
	group, in, out := "isolated", "", ""
	args := []string{"--", "create", "Address_Set", fmt.Sprintf("name=peers%d", i), addressesOf(peers)}
	if s.form.addresses {
		in, out = fmt.Sprintf("ip4.dst == $subject%d && ", i), fmt.Sprintf("ip4.src == $subject%d && ", i)
		args = append(args, "--", "create", "Address_Set", fmt.Sprintf("name=subject%d", i), addressesOf(subjects))
	} else {
		group = fmt.Sprintf("subject%d", i)
		args = slices.Concat(args, []string{"--", "pg-add", group}, s.names(subjects))
	}
	s.NBCtl(append(args,
		"--", "--type=port-group", "acl-add", group, "to-lport", "1001",
		fmt.Sprintf("outport == @%s && %sip4.src == $peers%d && tcp.dst == 80", group, in, i), "allow-related",
		"--", "--type=port-group", "--apply-after-lb", "acl-add", group, "from-lport", "1001",
		fmt.Sprintf("inport == @%s && %sip4.dst == $peers%d && tcp.dst == 80", group, out, i), "allow-related")...)
}

// flip moves a port from one subject to another, and back: it is the change of a pod's label.
func (s *subjectLab) flip(port, from, to int, args ...string) {
	table, column, value := "Address_Set", "addresses", fmt.Sprintf("%q", s.ports[port].Addrs[0])
	if !s.form.addresses {
		table, column = "Port_Group", "ports"
		value = strings.TrimSpace(s.NBCtl("--bare", "--columns=_uuid", "find", "Logical_Switch_Port", "name="+s.ports[port].Name))
	}
	s.NBCtl(append(args, "remove", table, fmt.Sprintf("subject%d", from), column, value,
		"--", "add", table, fmt.Sprintf("subject%d", to), column, value)...)
}

// TestSubjectForms compares what the flip of a label and a chassis cost in either form. See ADR 20 for the figures.
func TestSubjectForms(t *testing.T) {
	const flips = 10
	recomputes, flows := map[string]int{}, map[string]int{}
	incremental := false
	for _, form := range subjectForms() {
		s := newSubjectLab(t, form, *subjectPorts)
		incremental = s.HasTiers() // such a northd takes a changed port group incrementally
		chassis := s.StartChassis()
		var local []string
		for i := range localPorts { // spread over policies as a scheduler spreads them over nodes
			local = append(local, s.ports[i*len(s.ports)/localPorts].Name)
		}
		chassis.Bind(nil, local...)
		chassis.Settle()
		flows[form.name] = chassis.Flows()

		before, northd, controller := s.FlowRecomputes(), s.NorthdCPU(), chassis.ControllerCPU()
		for i := range flips {
			s.flip(0, i%2, (i+1)%2)
			chassis.Settle()
		}
		recomputes[form.name] = s.FlowRecomputes() - before
		t.Logf("%s, %d ports: %d flows, %d recomputes, northd %v and ovn-controller %v for each flip", form.name, len(s.ports),
			flows[form.name], recomputes[form.name], (s.NorthdCPU()-northd)/flips, (chassis.ControllerCPU()-controller)/flips)
		t.Logf("%s: %v from the flip to flows, %v for a sync alone", form.name,
			spread(flips, func(i int) { s.flip(0, i%2, (i+1)%2, "--wait=hv") }), spread(flips, func(int) { chassis.SyncHV() }))
		require.Empty(t, s.Complaints())
	}
	require.Zero(t, recomputes["address sets"], "a flip of address sets alone is incremental")
	if !incremental {
		require.GreaterOrEqual(t, recomputes["port groups"], flips, "a port group that changes is not, before OVN 25.03: the reason to ask")
	}
	require.Greater(t, flows["address sets"], flows["port groups"], "a chassis has the subjects of all policies, not of its own ports")
}

// spread returns the median and the 99th percentile of how long work takes.
func spread(n int, work func(i int)) string {
	var took []time.Duration
	for i := range n {
		began := time.Now()
		work(i)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return fmt.Sprintf("p50 %v p99 %v", took[n/2].Round(time.Millisecond), took[n*99/100].Round(time.Millisecond))
}

// TestSubjectFormsAreNotEquallyExact sends packets with a source that the port does not own. Subjects by address give them what
// the policies of the owner allow, unless the logical switch port has port security, which is not netloom's to set.
func TestSubjectFormsAreNotEquallyExact(t *testing.T) {
	for _, form := range subjectForms() {
		t.Run(form.name, func(t *testing.T) {
			s := newSubjectLab(t, form, 12*subjectsEach)
			stranger, owner := s.ports[6*subjectsEach], s.ports[0]
			peer := s.ports[subjectsEach] // a peer of the owner, and no peer of the stranger
			f := ovnlab.Flow{Src: owner.Addrs[0], Dst: peer.Addrs[0], Protocol: "tcp", Port: 80}
			s.NBCtl("acl-del", "isolated", "to-lport") // only egress is under test
			s.Sync()
			require.Equal(t, ovnlab.Allow, s.TraceFrom(owner.Name, f))
			own := f
			own.Src = stranger.Addrs[0]
			require.Equal(t, ovnlab.Drop, s.TraceFrom(stranger.Name, own), "with its own address")
			require.Equal(t, ovnlab.Drop, s.TraceFrom(stranger.Name, f), "port security drops it")
			s.NBCtl("lsp-set-port-security", stranger.Name)
			s.Sync()
			want := ovnlab.Drop
			if form.addresses {
				want = ovnlab.Allow // it escapes its own policies
			}
			require.Equal(t, want, s.TraceFrom(stranger.Name, f), "without port security")
		})
	}
}
