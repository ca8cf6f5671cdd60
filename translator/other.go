package translator

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/field"
)

// otherObjects holds what is known of another cluster: its namespaces and the keys of its pods.
type otherObjects struct {
	namespaces map[string]*corev1.Namespace
	pods       map[object.Key]bool
}

// PutOther adds or replaces a pod or a namespace of another cluster of the set. Its pods are peers of policies and never their
// subjects. The object is kept and must not be changed afterwards. It returns an error for an object of another kind, for the
// own cluster and without a set of clusters.
func (t *Translator) PutOther(cluster string, o any) error {
	if t.source.ClusterSet == field.SingleCluster || cluster == t.source.Cluster {
		return fmt.Errorf("cluster %q is not another cluster of a set", cluster)
	}
	of := t.others[cluster]
	if of == nil {
		of = &otherObjects{namespaces: map[string]*corev1.Namespace{}, pods: map[object.Key]bool{}}
		t.others[cluster] = of
	}
	switch o := o.(type) {
	case *corev1.Namespace:
		of.namespaces[o.Name] = o
		t.putRemoteNamespace(cluster, o)
	case *corev1.Pod:
		key := object.Key{Cluster: cluster, Namespace: o.Namespace, Name: o.Name}
		of.pods[key] = true
		t.putOtherPod(key, o)
	default:
		return fmt.Errorf("%T of cluster %s is not translated: expected a Pod or a Namespace", o, cluster)
	}
	return nil
}

// putOtherPod puts a pod of another cluster into the label cache, or removes it if it cannot have traffic of its own.
func (t *Translator) putOtherPod(key object.Key, pod *corev1.Pod) {
	faults := field.Faults{Of: field.Source{Cluster: key.Cluster}.Origin(object.KindPod, pod)}
	endpoint, ok := endpointOfPod(key, pod, &faults)
	if !ok {
		t.dropOtherPod(key)
		return
	}
	if because := t.opaque.beyond(&endpoint); because != "" {
		faults.Add("metadata.labels", "%s; it matches no policy", because)
		endpoint = *opaque(&endpoint)
	}
	t.putRemotePod(key, pod.CreationTimestamp, &podEntry{endpoint: &endpoint, problems: faults.List, leaving: pod.DeletionTimestamp != nil})
	t.space.look(key, endpoint.Addrs)
}

func (t *Translator) dropOtherPod(key object.Key) {
	t.remotes.forget(remoteRef(object.KindPod, key))
	t.putEndpoint(key, nil)
	t.problems.Set(peerRef(key), nil)
	t.space.look(key, nil)
}

// peerRef is the reference under which the problems of a pod of another cluster are kept. It differs from those of all pods of
// the own cluster, since no name of a namespace has a slash.
func peerRef(key object.Key) object.Ref {
	return object.Ref{Kind: object.KindPod, Namespace: key.Cluster + "/" + key.Namespace, Name: key.Name}
}

// RemoveOther removes a pod or a namespace of another cluster. An unknown one is not an error.
func (t *Translator) RemoveOther(cluster, kind, namespace, name string) {
	of := t.others[cluster]
	if of == nil {
		return
	}
	switch kind {
	case object.KindNamespace:
		delete(of.namespaces, name)
		t.dropRemoteNamespace(cluster, name)
	case object.KindPod:
		key := object.Key{Cluster: cluster, Namespace: namespace, Name: name}
		delete(of.pods, key)
		t.dropOtherPod(key)
	}
}

// RemoveCluster removes everything of another cluster, which has left the set.
func (t *Translator) RemoveCluster(cluster string) {
	of := t.others[cluster]
	if of == nil {
		return
	}
	for key := range of.pods {
		t.dropOtherPod(key)
	}
	for name := range of.namespaces {
		t.dropRemoteNamespace(cluster, name)
	}
	delete(t.others, cluster)
}

// OtherPods counts the pods of another cluster that are known.
func (t *Translator) OtherPods(cluster string) int {
	of := t.others[cluster]
	if of == nil {
		return 0
	}
	return len(of.pods)
}
