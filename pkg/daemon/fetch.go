package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/netloom/netloom/pkg/watch"
)

// podLabel is on the pods of a daemon, and httpPort is the name of the port that it answers on.
const (
	podLabel    = "app.kubernetes.io/name=netloom"
	httpPort    = "http"
	defaultPort = 8080
)

// FetchManifests asks a daemon that runs in a cluster for its manifests, through the API server.
func FetchManifests(ctx context.Context, kubeconfig, contextName string) ([]byte, error) {
	client, err := watch.KubernetesClient(kubeconfig, contextName)
	if err != nil {
		return nil, err
	}
	return fetchManifests(ctx, client)
}

func fetchManifests(ctx context.Context, client kubernetes.Interface) ([]byte, error) {
	pods, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: podLabel})
	if err != nil {
		return nil, fmt.Errorf("find the daemon: %w", err)
	}
	faults := []error{fmt.Errorf("no daemon answers: %d pods with the label %s", len(pods.Items), podLabel)}
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Status.Phase != corev1.PodRunning {
			continue
		}
		list, err := client.CoreV1().Pods(p.Namespace).
			ProxyGet("http", p.Name, strconv.Itoa(portOf(p)), "debug/manifests", nil).DoRaw(ctx)
		if err == nil {
			return list, nil
		}
		faults = append(faults, fmt.Errorf("pod %s/%s: %w", p.Namespace, p.Name, err))
	}
	return nil, errors.Join(faults...)
}

// portOf is the port that a daemon's pod answers on.
func portOf(p *corev1.Pod) int {
	for i := range p.Spec.Containers {
		ports := p.Spec.Containers[i].Ports
		if at := slices.IndexFunc(ports, func(c corev1.ContainerPort) bool { return c.Name == httpPort }); at >= 0 {
			return int(ports[at].ContainerPort)
		}
	}
	return defaultPort
}
