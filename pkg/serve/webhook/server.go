package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/serve/listener"
	"github.com/netloom/netloom/pkg/serve/webhook/advice"
	"github.com/netloom/netloom/pkg/serve/webhook/bucket"
	"github.com/netloom/netloom/pkg/serve/webhook/consistency"
)

// The paths that reviews are sent to. The first two are those of ICN SD-EWAN.
const (
	PathBucket   = "/validate-sdewan-bucket-permission"
	PathLabel    = "/validate-label"
	PathWorkload = "/validate-cnf"
	PathObject   = "/validate-sdewan"
	PathPolicy   = "/warn-networkpolicy"
	PathRole     = "/warn-role"
	PathGate     = "/add-readiness-gate" // the only one that changes objects
)

// grace is how long reviews in progress may take once no new ones are accepted.
const grace = 10 * time.Second

// Server answers reviews. New makes one.
type Server struct {
	opts    Options
	log     logrus.FieldLogger
	scheme  *runtime.Scheme
	metrics *meters
	turns   turns

	grants  *bucket.Grants
	index   *consistency.Index
	adviser *advice.Adviser // nil without advice

	endpoints []*endpoint
	feeds     []*feed

	draining atomic.Bool
}

// New makes a Server that uses what sources deliver. They have to read opts.Kinds.
func New(sources []Source, opts Options, log logrus.FieldLogger) (*Server, error) {
	s := &Server{
		opts: opts, log: log, scheme: runtime.NewScheme(), metrics: newMeters(opts.Certificate), turns: newTurns(),
		grants: bucket.NewGrants(opts.Bucket), index: consistency.NewIndex(),
	}
	if err := v1alpha1.AddToScheme(s.scheme); err != nil {
		return nil, err
	}
	if opts.Advice != nil {
		s.adviser = advice.New(*opts.Advice)
	}
	s.endpoints = []*endpoint{
		{path: PathBucket, judge: s.judgeBucket},
		{path: PathLabel, judge: s.judgeLabel},
		{path: PathWorkload, judge: s.judgeWorkload},
		{path: PathObject, judge: s.judgeObject},
		{path: PathPolicy, judge: s.judgePolicy},
		{path: PathRole, judge: s.judgeRole},
		{path: PathGate, judge: s.judgePod},
	}
	needs := opts.needs()
	for _, e := range s.endpoints {
		var err error
		if e.needs, err = connect(needs[e.path], sources); err != nil {
			return nil, err
		}
		s.feeds = append(s.feeds, e.needs...)
	}
	return s, nil
}

// Handler answers reviews.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, e := range s.endpoints {
		mux.HandleFunc("POST "+e.path, s.review(e))
	}
	return mux
}

// Health serves health and metrics.
func (s *Server) Health() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if text := s.Unready(); text != "" {
			http.Error(w, text, http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, strings.Join(append([]string{"ok"}, s.Degraded()...), "\n"))
	})
	mux.Handle("GET /metrics", s.metrics.handler())
	return mux
}

// Unready returns why no review should be sent here; "" if they may be.
func (s *Server) Unready() string {
	if s.draining.Load() {
		return "stopping"
	}
	if _, err := s.opts.Certificate(); err != nil {
		return err.Error()
	}
	return missing(s.feeds)
}

// Degraded lists faults that do not prevent answers, one per line.
func (s *Server) Degraded() []string {
	var lines []string
	if s.opts.Trouble != nil {
		if err := s.opts.Trouble(); err != nil {
			lines = append(lines, "degraded: the certificate cannot be maintained: "+err.Error())
		}
	}
	for _, f := range s.feeds {
		if text := f.degraded(); text != "" {
			lines = append(lines, text)
		}
	}
	return lines
}

// Gatherer returns the metrics, without those of the process.
func (s *Server) Gatherer() prometheus.Gatherer { return s.metrics.registry }

// Run answers reviews until ctx ends, and for a while after that. Feed has to run just as long.
func (s *Server) Run(ctx context.Context) error {
	reviews, err := new(net.ListenConfig).Listen(ctx, "tcp", s.opts.Listen)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	var health net.Listener
	if s.opts.HealthListen != "" {
		if health, err = new(net.ListenConfig).Listen(ctx, "tcp", s.opts.HealthListen); err != nil {
			_ = reviews.Close()
			return fmt.Errorf("serve: %w", err)
		}
	}
	return s.Serve(ctx, reviews, health)
}

// Serve is Run with listeners, which it closes; health may be nil.
func (s *Server) Serve(ctx context.Context, reviews, health net.Listener) error {
	var running sync.WaitGroup
	defer running.Wait()
	reviewServer := s.server(s.Handler(), reviewers(), &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.opts.Certificate() },
	})
	healthServer := s.server(s.Health(), listener.Small(), nil)
	failed := make(chan error, 2)
	s.log.WithField("address", reviews.Addr().String()).Info("answering admission reviews")
	running.Go(func() { failed <- reviewServer.ServeOn(reviews) })
	if health != nil {
		s.log.WithField("address", health.Addr().String()).Info("serving health and metrics")
		running.Go(func() { failed <- healthServer.ServeOn(health) })
	}
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		s.draining.Store(true)
		select {
		case err = <-failed:
		case <-time.After(s.opts.ShutdownDelay):
		}
	}
	stopping, done := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer done()
	for _, server := range []*listener.Server{reviewServer, healthServer} {
		_ = server.Shutdown(stopping) // unfinished ones are aborted
		_ = server.Close()
	}
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// reviewers is how many connections API servers may have: one has a single connection in general, and many requests on it.
func reviewers() listener.Limits {
	return listener.Limits{Connections: 512, PerAddress: 256, Reserve: 16}
}

func (s *Server) server(handler http.Handler, limits listener.Limits, secure *tls.Config) *listener.Server {
	return listener.New(listener.Options{
		Handler: handler, Log: s.log, TLS: secure, Limits: limits, Read: 30 * time.Second, Write: 30 * time.Second, Streams: 250,
	})
}
