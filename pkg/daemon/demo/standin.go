package demo

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	examples "github.com/netloom/netloom/deploy/examples/clusters"
	"github.com/netloom/netloom/pkg/serve/authority"
	"github.com/netloom/netloom/pkg/serve/listener"
	"github.com/netloom/netloom/pkg/simulator/kubeapi"
)

// standIn is the simulated API server of a cluster of the example, on a loopback address.
type standIn struct {
	api      *kubeapi.Server
	ca       []byte
	token    string
	listener net.Listener
	server   *listener.Server

	mu  sync.Mutex
	pod *unstructured.Unstructured // the one that changes; nil if the cluster does not have it
}

// newStandIn makes an API server with the objects of a cluster of the example.
func newStandIn(ctx context.Context, cluster string, log logrus.FieldLogger) (*standIn, error) {
	signer, err := authority.New("simulated cluster "+cluster, time.Now(), authority.Year)
	if err != nil {
		return nil, err
	}
	signed, err := signer.Server("127.0.0.1")
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(signed.Cert, signed.Key)
	if err != nil {
		return nil, err
	}
	s := &standIn{ca: signer.PEM(), token: rand.Text()}
	s.api = kubeapi.New(s.token)
	if err := s.load(cluster); err != nil {
		return nil, err
	}
	s.server = listener.New(listener.Options{
		Handler: s.api, Log: log, TLS: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}},
	})
	s.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	return s, err
}

// load puts the objects of a cluster of the example into the API server.
func (s *standIn) load(cluster string) error {
	text, err := fs.ReadFile(examples.Files, cluster+"/shop.yaml")
	if err != nil {
		return err
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		o := &unstructured.Unstructured{}
		if err == nil {
			err = yaml.Unmarshal(document, &o.Object)
		}
		if err == nil {
			err = s.api.Put(o)
		}
		if err != nil {
			return fmt.Errorf("examples: %w", err)
		}
		if o.GetKind() == "Pod" && o.GetName() == changingPod {
			s.pod = o
		}
	}
}

// describe adds the API server to a kubeconfig, as a context.
func (s *standIn) describe(config *api.Config, name string) {
	config.Clusters[name] = &api.Cluster{Server: "https://" + s.listener.Addr().String(), CertificateAuthorityData: s.ca}
	config.AuthInfos[name] = &api.AuthInfo{Token: s.token}
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
}

// run serves until ctx ends.
func (s *standIn) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = s.server.Close() })
	defer stop()
	if err := s.server.ServeOn(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// relabel changes the label app of the pod, or changes it back.
func (s *standIn) relabel() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	labels := s.pod.GetLabels()
	if labels["app"] == "web" {
		labels["app"] = "checkout"
	} else {
		labels["app"] = "web"
	}
	s.pod.SetLabels(labels)
	return s.api.Put(s.pod)
}
