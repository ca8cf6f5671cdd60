package scenario

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	mcsv1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn/ovntest"
	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/translator"
)

// owner is the owner of a scenario's rows.
const owner = "scenario"

// process is the pipeline from manifests to rows. The directory and the target survive its restarts.
type process struct {
	dir     string
	target  backendtest.Target
	node    string                  // whose pods are subjects and have ports; "" is every node
	written map[object.Ref]string   // the content of the directory
	answers map[string][]netip.Addr // of DNS

	source   *manifest.Directory
	made     *translator.Translator
	snapshot *intent.Snapshot
	backend  backends.Backend
	reached  intent.Revision
	skips    []string   // of the last plan
	back     bool       // it goes through the moments from the last to the first
	interim  func() int // with how many peers policies are divided again that did not change (translator.Translator.Interim); nil for all
}

func newProcess(t *testing.T, target backendtest.Target) *process {
	t.Helper()
	p := &process{dir: scratch(t), target: target, written: make(map[object.Ref]string)}
	p.restart(t)
	t.Cleanup(func() { require.NoError(t, p.backend.Close()) })
	return p
}

// scratch is a directory that exists as long as the test, in memory if possible: every road writes every manifest again.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "netloom-*") //nolint:usetesting // t.TempDir is on a disk
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// restart drops everything but the directory and the target.
func (p *process) restart(t *testing.T) {
	t.Helper()
	if p.backend != nil {
		require.NoError(t, p.backend.Close())
	}
	log := logrus.New()
	log.SetLevel(logrus.ErrorLevel)
	p.source = manifest.NewDirectory(p.dir, manifest.Options{}, log)
	_, parts := p.target.(*ovntest.Target) // as the daemon does with OVN alone
	p.made = translator.New(translator.Options{Node: p.node, PartsOnly: parts})
	p.snapshot = nil
	p.backend = p.target.Open(t, owner)
	p.reached = 0
}

// write makes the directory contain exactly these manifests.
func (p *process) write(t *testing.T, objects map[object.Ref][]byte) {
	t.Helper()
	path := func(r object.Ref) string { // names of objects may exceed the limit for file names
		return filepath.Join(p.dir, fmt.Sprintf("%x.yaml", sha256.Sum256([]byte(r.String()))))
	}
	for r := range p.written {
		if _, stays := objects[r]; !stays {
			require.NoError(t, os.Remove(path(r)))
			delete(p.written, r)
		}
	}
	for r, manifest := range objects {
		if p.written[r] != string(manifest) {
			require.NoError(t, os.WriteFile(path(r), manifest, 0o600))
			p.written[r] = string(manifest)
		}
	}
}

// translate reads the changes of the directory, and creates what pods need in the target. With again, every object is
// passed to the translator once more.
func (p *process) translate(t *testing.T, again bool) {
	t.Helper()
	require.NoError(t, p.source.ReadOnce())
	refs := p.source.Drain()
	if again {
		refs = append(refs, p.source.Refs()...)
	}
	for _, r := range refs {
		if o, ok := p.source.Get(r); ok {
			require.NoError(t, p.made.Put(o))
		} else {
			p.made.Remove(r.Kind, r.Namespace, r.Name)
		}
	}
	p.next() // finds out which names are in use
	for _, name := range p.made.Hosts() {
		p.made.SetHost(name, p.answers[name])
	}
	p.snapshot = p.next()
	p.target.Prepare(t, p.endpoints(), slices.Collect(p.snapshot.Nodes()))
}

// next takes the next snapshot.
func (p *process) next() *intent.Snapshot {
	if p.interim == nil {
		return p.made.Snapshot()
	}
	return p.made.Interim(p.interim())
}

// reconcile brings the target in sync with the last snapshot.
func (p *process) reconcile(t *testing.T) {
	t.Helper()
	p.reconcileFailing(t, 0)
}

// reconcileFailing brings the target in sync with the last snapshot while a write fails: the n-th, if there are that
// many. As in the daemon, a plan from a read-back follows.
func (p *process) reconcileFailing(t *testing.T, n int) {
	t.Helper()
	for try := 0; ; try++ {
		require.Less(t, try, 10, "the target never converges")
		plan, err := p.backend.Plan(t.Context(), p.snapshot, p.reached)
		require.NoError(t, err)
		if plan.Resync {
			require.NotZero(t, p.reached, "a plan from read-back asks for read-back")
			p.reached = 0
			continue
		}
		fails := n > 0 && n <= transactions(plan)
		if fails {
			p.target.FailAt(n)
			n = 0
		}
		err = p.backend.Apply(t.Context(), plan)
		if fails {
			require.Error(t, err, "a failed write went unnoticed")
			p.reached = 0
			continue
		}
		require.NoError(t, err)
		p.reached = p.snapshot.Revision()
		p.skips = nil
		for i := range plan.Skips {
			p.skips = append(p.skips, fmt.Sprint(plan.Skips[i]))
		}
		require.Empty(t, p.target.Dangling(t))
		return
	}
}

// transactions counts the groups of a plan.
func transactions(p *backends.Plan) int {
	n := 0
	for i := range p.Ops {
		if i == 0 || p.Ops[i].Group != p.Ops[i-1].Group {
			n++
		}
	}
	return n
}

// endpoints are the pods that need something in the target, even before they have an address.
func (p *process) endpoints() []intent.Endpoint {
	var list []intent.Endpoint
	for _, r := range p.source.Refs() {
		o, _ := p.source.Get(r)
		pod, ok := o.(*corev1.Pod)
		if !ok {
			continue
		}
		e := intent.Endpoint{Key: object.Key{Namespace: pod.Namespace, Name: pod.Name}, Node: pod.Spec.NodeName}
		if pod.Spec.HostNetwork || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		if p.node != "" && e.Node != p.node {
			continue
		}
		for _, ip := range pod.Status.PodIPs {
			e.Addrs = append(e.Addrs, netip.MustParseAddr(ip.IP))
		}
		list = append(list, e)
	}
	return list
}

// cluster is the objects in the source, for the oracle.
func (p *process) cluster(t *testing.T) *oracle.Frozen {
	t.Helper()
	c := oracle.Cluster{Answers: p.answers}
	for _, r := range p.source.Refs() {
		o, _ := p.source.Get(r)
		switch o := o.(type) {
		case *corev1.Pod:
			c.Pods = append(c.Pods, o)
		case *corev1.Namespace:
			c.Namespaces = append(c.Namespaces, o)
		case *corev1.Node:
			c.Nodes = append(c.Nodes, o)
		case *networkingv1.NetworkPolicy:
			c.Policies = append(c.Policies, o)
		case *v1alpha2.ClusterNetworkPolicy:
			c.ClusterPolicies = append(c.ClusterPolicies, o)
		case *v1alpha1.AdminNetworkPolicy:
			c.AdminPolicies = append(c.AdminPolicies, o)
		case *v1alpha1.BaselineAdminNetworkPolicy:
			c.BaselinePolicies = append(c.BaselinePolicies, o)
		case *corev1.Service:
			c.Services = append(c.Services, o)
		case *mcsv1alpha1.ServiceImport:
			c.Imports = append(c.Imports, o)
		case *discoveryv1.EndpointSlice:
			// The oracle reads Endpoints by itself.
			if !strings.HasPrefix(o.Name, "endpoints/") {
				c.Slices = append(c.Slices, o)
			}
		}
	}
	for ref, manifest := range p.written {
		if ref.Kind == kindEndpoints {
			e := &corev1.Endpoints{} //nolint:staticcheck // SA1019: clusters still have them.
			require.NoError(t, yaml.Unmarshal([]byte(manifest), e))
			c.Endpoints = append(c.Endpoints, e)
		}
	}
	return c.Freeze()
}

// problems is everything that is wrong with the current objects.
func (p *process) problems() []string {
	var list []string
	for _, problem := range p.source.Problems() {
		list = append(list, problem.Error())
	}
	for _, problem := range p.made.Problems() {
		list = append(list, problem.Error())
	}
	return list
}
