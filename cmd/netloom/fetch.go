package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"

	"github.com/netloom/netloom/pkg/inputs/kube"
)

// podLabel selects the pods of daemons, and debugPort is the name of the port that serves debugging.
const (
	podLabel    = "app.kubernetes.io/name=netloom"
	debugPort   = "debug"
	defaultPort = 8082
)

// fetchManifests requests the manifests of a daemon that runs in a cluster, through a port that the API server forwards. It
// needs permission to create pods/portforward.
func fetchManifests(ctx context.Context, login kube.Login) ([]byte, error) {
	config, err := kube.Config(login)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to Kubernetes: %w", err)
	}
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
		list, err := forwarded(ctx, config, client, p)
		if err == nil {
			return list, nil
		}
		faults = append(faults, fmt.Errorf("pod %s/%s: %w", p.Namespace, p.Name, err))
	}
	return nil, errors.Join(faults...)
}

// forwarded requests the manifests of a pod through a forwarded port, which is closed after the answer.
func forwarded(ctx context.Context, config *rest.Config, client kubernetes.Interface, p *corev1.Pod) ([]byte, error) {
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	url := client.CoreV1().RESTClient().Post().Resource("pods").Namespace(p.Namespace).Name(p.Name).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan struct{})
	ports := []string{"0:" + strconv.Itoa(portOf(p))}
	forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, ports, ctx.Done(), ready, io.Discard, io.Discard)
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case err := <-ended:
		return nil, fmt.Errorf("forward a port: %w", err)
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-ready:
	}
	local, err := forwarder.GetPorts()
	if err != nil {
		return nil, fmt.Errorf("forward a port: %w", err)
	}
	once := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // the port is not forwarded for longer
	list, err := request(ctx, once, http.MethodGet, "http://"+net.JoinHostPort("127.0.0.1", strconv.Itoa(int(local[0].Local)))+"/debug/manifests")
	cancel()
	<-ended
	return list, err
}

// portOf is the port on which a daemon's pod serves debugging.
func portOf(p *corev1.Pod) int {
	for i := range p.Spec.Containers {
		ports := p.Spec.Containers[i].Ports
		if at := slices.IndexFunc(ports, func(c corev1.ContainerPort) bool { return c.Name == debugPort }); at >= 0 {
			return int(ports[at].ContainerPort)
		}
	}
	return defaultPort
}

// request returns the body of an HTTP response. A status other than 200 is an error with that body.
func request(ctx context.Context, client *http.Client, method, url string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", response.Status, bytes.TrimSpace(body))
	}
	return body, nil
}
