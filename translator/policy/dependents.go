package policy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/host"
)

// dependents finds the policies that have to be translated again when something changes that they depend on besides their own object.
type dependents struct {
	hosts        *host.Table
	ofNodes      map[object.Ref]bool
	ofNamespaces map[object.Ref]labels.Selector // with the selector by which they list namespaces
	ofHosts      map[string]map[object.Ref]bool // by DNS name
	again        func(object.Ref)               // called for each policy that has to be translated again
}

func newDependents(hosts *host.Table, again func(object.Ref)) *dependents {
	return &dependents{hosts, map[object.Ref]bool{}, map[object.Ref]labels.Selector{}, map[string]map[object.Ref]bool{}, again}
}

// follow records what the result of a policy depends on, in place of what its last one did.
func (d *dependents) follow(policy object.Ref, old, now *result) {
	if now != nil && now.nodes {
		d.ofNodes[policy] = true
	} else {
		delete(d.ofNodes, policy)
	}
	if now != nil && now.namespaces != nil {
		d.ofNamespaces[policy] = now.namespaces
	} else {
		delete(d.ofNamespaces, policy)
	}
	if now != nil {
		for _, name := range now.hosts {
			if d.ofHosts[name] == nil {
				d.ofHosts[name] = map[object.Ref]bool{}
			}
			d.ofHosts[name][policy] = true
			d.hosts.Use(name)
		}
	}
	if old == nil {
		return
	}
	for _, name := range old.hosts {
		if now == nil || !slices.Contains(now.hosts, name) {
			delete(d.ofHosts[name], policy)
		}
		if len(d.ofHosts[name]) == 0 {
			delete(d.ofHosts, name)
		}
		d.hosts.Release(name)
	}
}

// nodeChanged finds the policies with nodes as peers if the part of a node that they depend on has changed. Nil is no node.
func (d *dependents) nodeChanged(old, now *corev1.Node) {
	if old != nil && now != nil && labels.Equals(old.Labels, now.Labels) &&
		slices.Equal(peerAddrs(old), peerAddrs(now)) {
		return
	}
	for policy := range d.ofNodes {
		d.again(policy)
	}
}

// namespaceChanged finds the policies that now list a namespace, or no longer do. Nil is no namespace.
func (d *dependents) namespaceChanged(old, now *corev1.Namespace) {
	if old != nil && now != nil && labels.Equals(old.Labels, now.Labels) {
		return
	}
	for policy, s := range d.ofNamespaces {
		lists := func(ns *corev1.Namespace) bool { return ns != nil && s.Matches(labels.Set(ns.Labels)) }
		if lists(old) != lists(now) {
			d.again(policy)
		}
	}
}

// hostChanged finds the policies that contain a DNS name: it resolves now or no longer, or its cost has changed. Their sets follow its
// addresses without this.
func (d *dependents) hostChanged(name string) {
	for policy := range d.ofHosts[name] {
		d.again(policy)
	}
}

// len counts what is followed.
func (d *dependents) len() int { return len(d.ofNodes) + len(d.ofNamespaces) + len(d.ofHosts) }
