//go:build e2e

package main

import (
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/deploy/crds"
	"github.com/netloom/netloom/examples"
	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/deployment"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

const namespace = "netloom-system"

// play is a cluster for experiments.
type play struct {
	kube       *kubelab.Lab
	ovn        *ovnlab.Lab
	kubeconfig string
	gateway    string // kubeconfig of the API server through the gateway
	http, page string // addresses of netloom
}

// raise starts everything.
func raise(s *stage, opts settings) *play {
	p := &play{kube: kubelab.Start(s, kubelab.Options{Program: opts.kubeapi}), ovn: ovnlab.Start(s)}
	p.kubeconfig = p.kube.Kubeconfig()
	pods := p.examples(s)
	p.ovn.Install(network(s, pods))
	p.define(s)
	p.http, p.page = ovnlab.FreeAddress(s), ovnlab.FreeAddress(s)
	p.install(s, opts)
	p.serve(s, opts)
	return p
}

// serve runs the gateway in front of the API server.
func (p *play) serve(s *stage, opts settings) {
	dir := s.TempDir()
	p.gateway = filepath.Join(dir, "gateway.kubeconfig")
	program, err := filepath.Abs(opts.netloom)
	if err != nil {
		s.Fatal(err)
	}
	process := ovnlab.Spawn(s, filepath.Join(dir, "gateway.log"), os.Environ(), program, "gateway", "--from-kubeconfig", p.kubeconfig,
		"--write-kubeconfig", p.gateway, "--listen", ovnlab.FreeAddress(s))
	await.True(s, func() bool {
		select {
		case <-process.Exited():
			s.Fatalf("the gateway has ended:\n%s", process.Tail(20))
		default:
		}
		_, err := os.Stat(p.gateway)
		return err == nil
	}, "the gateway serves")
}

// define adds the kind of the objects that show what becomes of policies.
func (p *play) define(s *stage) {
	text, err := fs.ReadFile(crds.Definitions, "netloom.io_policystatuses.yaml")
	if err != nil {
		s.Fatal(err)
	}
	p.kube.Apply(string(text))
	kind := v1alpha1.GroupVersion.WithResource("policystatuses")
	await.True(s, func() bool {
		_, err := p.kube.Objects().Resource(kind).List(s.Context(), metav1.ListOptions{})
		return err == nil
	}, "the server has PolicyStatuses")
}

// examples applies the examples of the demo, and returns the pods. EndpointSlices are made by their controller.
func (p *play) examples(s *stage) []*corev1.Pod {
	var objects []*unstructured.Unstructured
	err := fs.WalkDir(examples.Files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		text, err := fs.ReadFile(examples.Files, path)
		if err != nil {
			return err
		}
		objects = append(objects, kubelab.Parse(s, string(text))...)
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
	var pods []*corev1.Pod
	for _, kinds := range [][]string{{"Namespace", "Node"}, {"Pod"}, {"NetworkPolicy", "Service"}} {
		for _, o := range objects {
			if !slices.Contains(kinds, o.GetKind()) {
				continue
			}
			if o.GetKind() == "Pod" {
				pods = append(pods, complete(s, o))
			}
			p.apply(o)
		}
	}
	return pods
}

// complete adds to a pod of the examples the fields that an API server requires and the status that a kubelet would
// report.
func complete(s *stage, o *unstructured.Unstructured) *corev1.Pod {
	pod := &corev1.Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, pod); err != nil {
		s.Fatal(err)
	}
	for _, c := range o.Object["spec"].(map[string]any)["containers"].([]any) {
		c.(map[string]any)["image"] = "example.test/none"
	}
	status := o.Object["status"].(map[string]any)
	status["podIP"] = pod.Status.PodIPs[0].IP
	status["conditions"] = []any{map[string]any{"type": "Ready", "status": "True"}}
	return pod
}

// apply applies an object, and then its status: a server ignores the status in the first request.
func (p *play) apply(o *unstructured.Unstructured) {
	status, ok := o.Object["status"]
	delete(o.Object, "status")
	p.kube.ApplyObjects([]*unstructured.Unstructured{o})
	if ok {
		o.Object["status"] = status
		delete(o.Object, "spec")
		p.kube.StatusObjects([]*unstructured.Unstructured{o})
	}
}

// network makes a logical port for each pod, named as in ovn-kubernetes.
func network(s *stage, pods []*corev1.Pod) *ovnlab.Network {
	var ports []ovnlab.Port
	for _, pod := range pods {
		port := ovnlab.Port{Name: pod.Namespace + "_" + pod.Name}
		for _, ip := range pod.Status.PodIPs {
			port.Addrs = append(port.Addrs, netip.MustParseAddr(ip.IP))
		}
		ports = append(ports, port)
	}
	n, err := ovnlab.NewNetwork(ports, nil)
	if err != nil {
		s.Fatal(err)
	}
	return n
}

// install applies the overlay with additional settings, and runs its pods.
func (p *play) install(s *stage, opts settings) {
	overlay, err := filepath.Abs(opts.overlay)
	if err != nil {
		s.Fatal(err)
	}
	dir := s.TempDir()
	overlay, err = filepath.Rel(dir, overlay)
	if err != nil {
		s.Fatal(err)
	}
	config := fmt.Sprintf("ovn-nb: [%q]\novn-lb-switches: \"!%s\"\nui-listen: %q\nreadiness-proof: written\n", p.ovn.NBTCP(), ovnlab.WorldSwitch, p.page)
	for name, text := range map[string]string{
		"netloom.yaml": config,
		"kustomization.yaml": "resources: [" + overlay + "]\ncomponents: [" + overlay + "/../../components/feedback, " + overlay + "/../../components/readiness]\nconfigMapGenerator:\n" +
			"- {name: netloom, namespace: " + namespace + ", behavior: replace, files: [netloom.yaml]}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			s.Fatal(err)
		}
	}
	objects, err := deployment.Kustomize(dir)
	if err != nil {
		s.Fatal(err)
	}
	p.kube.ApplyObjects(objects)
	d, err := p.kube.Client().AppsV1().Deployments(namespace).Get(s.Context(), "netloom", metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	pod := p.kube.RunPod(namespace, "netloom", &d.Spec.Template.Spec, opts.netloom, p.http, "NETLOOM_LISTEN="+p.http)
	pod.AwaitReady()
	p.kube.StartKubelet("kubelet").AdoptRun(pod, namespace, d.Spec.Selector)
}

// print prints all addresses.
func (p *play) print(out io.Writer) {
	_, _ = fmt.Fprintf(out, `A cluster is up: the API server of Kubernetes, OVN, the examples, and netloom as deploy/ installs it.

  export KUBECONFIG=%s
  export OVN_NB_DB=%s OVN_SB_DB=%s

  kubectl get networkpolicies,policystatuses -A
  ovn-nbctl list ACL
  bin/netloom probe --server auto 'shop/web-0->shop/api-0:tcp/api'
  http://%s/          what can reach what, and why
  http://%s/readyz
  kubectl --kubeconfig %s get namespaces    # through netloom gateway

Ctrl-C takes it down.
`, p.kubeconfig, p.ovn.NBUnix(), p.ovn.SBUnix(), p.page, p.http, p.gateway)
}
