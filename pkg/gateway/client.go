package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/netloom/netloom/pkg/gateway/dispatch"
	"github.com/netloom/netloom/pkg/gateway/registry"
	"github.com/netloom/netloom/pkg/gateway/upstream"
)

// patience is how long NewClient waits for an API server that is ready.
const patience = 5 * time.Second

// Client sends requests of this process to the API servers of an UpstreamCluster: to those that are ready in turn, within
// the limits of its dispatch policies, with the credentials of its clientConfig. It is a prometheus.Collector of what it does, and
// safe for concurrent use.
type Client struct {
	cluster   *upstream.Cluster
	set       *only
	directory *registry.Directory
	infos     *request.RequestInfoFactory
	metrics   *clientMetrics
	stop      context.CancelFunc
	reading   sync.WaitGroup
}

// NewClient makes a client for the UpstreamCluster that the files of a directory describe. Changes of the files apply while
// it is used; if they have faults, the last version without faults stays in force. Close it.
func NewClient(ctx context.Context, dir string, log logrus.FieldLogger) (*Client, error) {
	objects, err := registry.Check(dir)
	if err == nil && len(objects) == 1 && waits(objects[0]) {
		err = errReference
	}
	if err == nil && len(objects) != 1 {
		err = fmt.Errorf("there are %d UpstreamClusters, not one", len(objects))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	ctx, stop := context.WithCancel(ctx)
	name := objects[0].Name
	c := &Client{infos: requestInfos(), metrics: newClientMetrics(name), stop: stop}
	c.cluster = upstream.New(ctx, name, upstream.Options{Log: log.WithField("cluster", name), Count: c.metrics.count})
	c.set = newOnly(c.cluster, log)
	c.directory = registry.NewDirectory(dir, c.set, nil, log)
	c.directory.Load()
	if c.cluster.Object() == nil {
		c.Close()
		return nil, fmt.Errorf("%s: cluster %s cannot be used", dir, name)
	}
	c.reading.Go(func() { _ = c.directory.Run(ctx) })
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
	began := time.Now()
	release, err := route.Limiter.Wait(r.Context(), streams)
	c.metrics.waited(route.Schema, time.Since(began))
	if err != nil {
		return nil, err
	}
	if streams {
		r = r.WithContext(upstream.WithStream(r.Context()))
	} else {
		c.metrics.inflight.Inc()
		free := release
		release = func() {
			c.metrics.inflight.Dec()
			free()
		}
	}
	response, err := route.RoundTrip(r)
	c.metrics.answered(i, response)
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
