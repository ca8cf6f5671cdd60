package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/dispatch"
	"github.com/netloom/netloom/pkg/gateway/registry"
	"github.com/netloom/netloom/pkg/gateway/upstream"
)

// patience is how long NewClient waits for an API server that is ready.
const patience = 5 * time.Second

// Client sends requests of this process to the API servers of an UpstreamCluster: to those that are ready in turn, within
// the limits of its dispatch policies, with the credentials of its clientConfig. It is safe for concurrent use.
type Client struct {
	cluster *upstream.Cluster
	infos   *request.RequestInfoFactory
	stop    context.CancelFunc
	reading sync.WaitGroup
}

// NewClient makes a client for the UpstreamCluster that the files of a directory describe. Changes of the files apply while
// it is used; if they have faults, the last version without faults stays in force. Close it.
func NewClient(ctx context.Context, dir string, log logrus.FieldLogger) (*Client, error) {
	objects, err := registry.Check(dir)
	if err == nil && len(objects) != 1 {
		err = fmt.Errorf("there are %d UpstreamClusters, not one", len(objects))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	ctx, stop := context.WithCancel(ctx)
	name := objects[0].Name
	c := &Client{infos: requestInfos(), stop: stop}
	c.cluster = upstream.New(ctx, name, upstream.Options{Log: log.WithField("cluster", name)})
	directory := registry.NewDirectory(dir, only{c.cluster, log}, nil, log)
	directory.Load()
	if c.cluster.Object() == nil {
		c.Close()
		return nil, fmt.Errorf("%s: cluster %s cannot be used", dir, name)
	}
	c.reading.Go(func() { _ = directory.Run(ctx) })
	c.await(ctx)
	return c, nil
}

// await waits until an API server is ready, for a while: requests before that would fail.
func (c *Client) await(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		for _, e := range c.cluster.Endpoints() {
			if e.Ready {
				return
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// Close ends watches and the reading of files.
func (c *Client) Close() {
	c.stop()
	c.reading.Wait()
	c.cluster.Close()
}

// RoundTrip sends a request, which waits if a limit is reached.
func (c *Client) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.send(r)
	if err != nil && r.Body != nil {
		_ = r.Body.Close()
	}
	return response, err
}

func (c *Client) send(r *http.Request) (*http.Response, error) {
	i, err := c.infos.NewRequestInfo(r)
	if err != nil {
		return nil, err
	}
	route := c.cluster.Match(&dispatch.Request{
		IsResource: i.IsResourceRequest, Verb: i.Verb, APIGroup: i.APIGroup, Resource: i.Resource, Subresource: i.Subresource, Name: i.Name, Path: i.Path,
	})
	if route == nil {
		return nil, fmt.Errorf("no dispatch policy of cluster %s matches %s %s", c.cluster.Name(), i.Verb, i.Path)
	}
	streams := isLongRunning(i)
	release, err := route.Limiter.Wait(r.Context(), streams)
	if err != nil {
		return nil, err
	}
	if streams {
		r = r.WithContext(upstream.WithStream(r.Context()))
	}
	response, err := route.RoundTrip(r)
	if err != nil {
		release()
		return nil, err
	}
	if !streams {
		response.Body = &limited{ReadCloser: response.Body, release: release}
	}
	return response, nil
}

// limited is the body of a response that counts as a request in progress until it is closed.
type limited struct {
	io.ReadCloser
	once    sync.Once
	release func()
}

// Close closes the body.
func (l *limited) Close() error {
	l.once.Do(l.release)
	return l.ReadCloser.Close()
}

// only is a set of one cluster, which is never deleted: while its file is away, the last version serves.
type only struct {
	cluster *upstream.Cluster
	log     logrus.FieldLogger
}

var errAnother = errors.New("only one UpstreamCluster can be used, and another one is in use")

// Put uses a version of the cluster.
func (o only) Put(object *v1alpha1.UpstreamCluster) error {
	if object.Name != o.cluster.Name() {
		return errAnother
	}
	return o.cluster.Update(object)
}

// Reject leaves the version before in force.
func (only) Reject(string, error) {}

// Delete leaves the last version in force.
func (o only) Delete(name string) {
	o.log.WithField("cluster", name).Warn("the file of the cluster is gone; its last version stays in force")
}

// Conflict is "": host names mean nothing here.
func (only) Conflict(string) string { return "" }
