package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
	"sigs.k8s.io/network-policy-api/conformance/tests"
	"sigs.k8s.io/network-policy-api/conformance/utils/config"
	"sigs.k8s.io/network-policy-api/conformance/utils/suite"

	"github.com/netloom/netloom/backends/backendtest"
	"github.com/netloom/netloom/backends/ovn/ovntest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	"github.com/netloom/netloom/test/oracle"
	"github.com/netloom/netloom/translator"
)

// TestConformance runs every test of the suite, those of the experimental channel too.
func TestConformance(t *testing.T) {
	for _, form := range []struct {
		name string
		nb   []byte
	}{{"without tiers (23.03)", schema.NB2303()}, {"with tiers (25.03)", schema.NB2503()}} {
		for first, name := range [...]string{v4: "IPv4", v6: "IPv6"} {
			t.Run(form.name+" over "+name, func(t *testing.T) {
				c := newCluster(t, family(first))
				plane := &dataPlane{t: t, cluster: c, target: ovntest.New(t, form.nb)}
				server := httptest.NewServer(&commands{connects: plane.connects})
				t.Cleanup(server.Close)
				at := rest.Config{Host: server.URL, QPS: -1}
				clients, err := kubernetes.NewForConfig(&at)
				require.NoError(t, err)
				s := suite.New(suite.Options{
					Client: c, ClientSet: clients, KubeConfig: at, EnableAllSupportedFeatures: true,
					TimeoutConfig: config.TimeoutConfig{PokeInterval: time.Millisecond},
				})
				s.Setup(t)
				s.Run(t, tests.ConformanceTests)
				t.Logf("%d connections tried", plane.tried)
				require.Greater(t, plane.tried, 200)
			})
		}
	}
}

// dataPlane decides connections by the rows of a database that is brought in sync with the cluster before each.
type dataPlane struct {
	t       *testing.T
	cluster *cluster
	target  backendtest.Target
	tried   int

	// As of the last change of the cluster:
	version  string
	pods     []corev1.Pod
	judge    *oracle.Frozen
	snapshot *intent.Snapshot
}

// connects is an error if the intents or the oracle do not agree with the rows.
func (d *dataPlane) connects(a attempt) (bool, error) {
	if err := d.update(); err != nil {
		return false, err
	}
	flow, asked, err := flowOf(a, d.pods)
	if err != nil {
		return false, err
	}
	d.tried++
	rows, intents, oracle := d.target.Verdict(d.t, flow).Allowed, d.snapshot.Evaluate(flow).Allowed, d.judge.Allowed(asked)
	if rows != intents || rows != oracle.Allowed {
		err = fmt.Errorf("%+v: rows %v, intents %v, oracle %v %q", a, rows, intents, oracle.Allowed, oracle.Why)
		d.t.Error(err)
	}
	return rows, err
}

// update brings everything in sync with the cluster if that has changed.
func (d *dataPlane) update() error {
	pods, others, err := d.cluster.objects(context.Background())
	if err != nil {
		return err
	}
	version := fmt.Sprintf("%d pods", len(pods))
	tr := translator.New(translator.Options{})
	judge := &oracle.Cluster{}
	for _, o := range others {
		version += fmt.Sprintf(" %T %s %s", o, o.GetName(), o.GetResourceVersion())
		if err := tr.Put(o); err != nil {
			return err
		}
		switch o := o.(type) {
		case *corev1.Namespace:
			judge.Namespaces = append(judge.Namespaces, o)
		case *corev1.Node:
			judge.Nodes = append(judge.Nodes, o)
		case *networkingv1.NetworkPolicy:
			judge.Policies = append(judge.Policies, o)
		case *v1alpha2.ClusterNetworkPolicy:
			judge.ClusterPolicies = append(judge.ClusterPolicies, o)
		}
	}
	if version == d.version {
		return nil
	}
	var endpoints []intent.Endpoint
	for i := range pods {
		if err := tr.Put(&pods[i]); err != nil {
			return err
		}
		judge.Pods = append(judge.Pods, &pods[i])
		if !pods[i].Spec.HostNetwork {
			endpoints = append(endpoints, endpointOf(&pods[i]))
		}
	}
	d.snapshot, d.pods, d.judge = tr.Snapshot(), pods, judge.Freeze()
	if problems := tr.Problems(); len(problems) > 0 {
		return fmt.Errorf("problems: %v", problems)
	}
	if err := d.sync(d.snapshot, endpoints); err != nil {
		return err
	}
	d.version = version
	return nil
}

// sync brings the database in sync, by a plan from read-back.
func (d *dataPlane) sync(snapshot *intent.Snapshot, endpoints []intent.Endpoint) (err error) {
	d.target.Prepare(d.t, endpoints, slices.Collect(snapshot.Nodes()))
	backend := d.target.Open(d.t, "conformance")
	defer func() { err = errors.Join(err, backend.Close()) }()
	plan, err := backend.Plan(context.Background(), snapshot, 0)
	if err != nil {
		return err
	}
	if len(plan.Skips) > 0 {
		return fmt.Errorf("not expressed: %v", plan.Skips)
	}
	return backend.Apply(context.Background(), plan)
}

func endpointOf(p *corev1.Pod) intent.Endpoint {
	e := intent.Endpoint{Key: object.Key{Namespace: p.Namespace, Name: p.Name}, Node: p.Spec.NodeName}
	for _, ip := range p.Status.PodIPs {
		e.Addrs = append(e.Addrs, netip.MustParseAddr(ip.IP))
	}
	return e
}

// flowOf is an attempt as the intents and the oracle know it: the ends are the pods of the addresses.
func flowOf(a attempt, pods []corev1.Pod) (intent.Flow, oracle.Flow, error) {
	protocols := map[string]intent.Protocol{"tcp": intent.TCP, "udp": intent.UDP, "sctp": intent.SCTP}
	names := map[string]corev1.Protocol{"tcp": corev1.ProtocolTCP, "udp": corev1.ProtocolUDP, "sctp": corev1.ProtocolSCTP}
	f := intent.Flow{Dst: intent.Party{Addr: a.to.Addr()}, Protocol: protocols[a.protocol], Port: a.to.Port()}
	o := oracle.Flow{Dst: oracle.End{Addr: a.to.Addr()}, Protocol: names[a.protocol], Port: int32(a.to.Port())}
	for i := range pods {
		p := &pods[i]
		key := object.Key{Namespace: p.Namespace, Name: p.Name}
		for _, addr := range endpointOf(p).Addrs {
			if addr == a.to.Addr() && !p.Spec.HostNetwork {
				f.Dst.Key, o.Dst.Pod = key, key.String()
			}
			if p.Namespace == a.namespace && p.Name == a.pod && addr.Is4() == a.to.Addr().Is4() {
				f.Src, f.Node = intent.Party{Key: key, Addr: addr}, p.Spec.NodeName
				o.Src, o.Node = oracle.End{Pod: key.String(), Addr: addr}, p.Spec.NodeName
			}
		}
	}
	if !f.Src.Addr.IsValid() || f.Protocol == 0 {
		return f, o, fmt.Errorf("%+v: no such pod, address or protocol", a)
	}
	return f, o, nil
}
