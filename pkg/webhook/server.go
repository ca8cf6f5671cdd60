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
	"github.com/netloom/netloom/pkg/webhook/advice"
	"github.com/netloom/netloom/pkg/webhook/bucket"
	"github.com/netloom/netloom/pkg/webhook/consistency"
)

// The paths that reviews are sent to. The first two are those of ICN SD-EWAN.
const (
	PathBucket   = "/validate-sdewan-bucket-permission"
	PathLabel    = "/validate-label"
	PathWorkload = "/validate-cnf"
	PathObject   = "/validate-sdewan"
	PathPolicy   = "/warn-networkpolicy"
	PathRole     = "/warn-role"
)

// grace is how long reviews under way may take once no new ones are taken.
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
	objects   []*feed // those of SD-WAN objects

	draining atomic.Bool
}

// New makes a Server. Nothing is asked of the API before Run.
func New(c Clients, opts Options, log logrus.FieldLogger) (*Server, error) {
	s := &Server{
		opts: opts, log: log, scheme: runtime.NewScheme(), metrics: newMeters(opts.Certificate), turns: newTurns(),
		grants: bucket.NewGrants(opts.Bucket), index: consistency.NewIndex(),
	}
	if err := v1alpha1.AddToScheme(s.scheme); err != nil {
		return nil, err
	}
	roles := s.roleFeeds(c)
	var workloads, pods []*feed
	if opts.Checks[consistency.Dependencies] != Off {
		s.objects = s.objectFeeds(c)
	}
	if opts.Checks[consistency.DuplicateCNF] != Off {
		workloads = s.workloadFeeds(c)
	}
	if opts.Advice != nil {
		s.adviser = advice.New(*opts.Advice)
		pods = s.podFeeds(c)
	}
	s.endpoints = []*endpoint{
		{PathBucket, s.judgeBucket, roles},
		{PathLabel, s.judgeLabel, nil},
		{PathWorkload, s.judgeWorkload, workloads},
		{PathObject, s.judgeObject, s.objects},
		{PathPolicy, s.judgePolicy, pods},
		{PathRole, s.judgeRole, nil},
	}
	for _, e := range s.endpoints {
		s.feeds = append(s.feeds, e.needs...)
	}
	for _, f := range s.feeds {
		if err := f.prepare(log); err != nil {
			return nil, fmt.Errorf("watch %s: %w", f.resource, err)
		}
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

// Health answers for health and metrics.
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

// Unready says why no review should be sent here; "" if they may.
func (s *Server) Unready() string {
	if s.draining.Load() {
		return "stopping"
	}
	if _, err := s.opts.Certificate(); err != nil {
		return err.Error()
	}
	return missing(s.feeds)
}

// Degraded says what is not as it should be while reviews are answered, a line for each.
func (s *Server) Degraded() []string {
	var lines []string
	if s.opts.Trouble != nil {
		if err := s.opts.Trouble(); err != nil {
			lines = append(lines, "degraded: the certificate cannot be looked after: "+err.Error())
		}
	}
	for _, f := range s.feeds {
		if text := f.degraded(); text != "" {
			lines = append(lines, text)
		}
	}
	return lines
}

// Gatherer has the metrics, without those of the process.
func (s *Server) Gatherer() prometheus.Gatherer { return s.metrics.registry }

// Feed keeps what reviews are judged by until ctx ends. Run does it by itself.
func (s *Server) Feed(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for _, f := range s.feeds {
		running.Go(func() { f.run(ctx) })
	}
}

// Run answers reviews until ctx ends, and for a while after that.
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
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { s.Feed(lasting) })
	return s.Answer(ctx, reviews, health)
}

// Answer is Serve without Feed, which has to run besides and somewhat longer.
func (s *Server) Answer(ctx context.Context, reviews, health net.Listener) error {
	var running sync.WaitGroup
	defer running.Wait()
	answering, telling := s.server(s.Handler()), s.server(s.Health())
	failed := make(chan error, 2)
	s.log.WithField("address", reviews.Addr().String()).Info("answering admission reviews")
	running.Go(func() { failed <- answering.ServeTLS(reviews, "", "") })
	if health != nil {
		s.log.WithField("address", health.Addr().String()).Info("serving health and metrics")
		running.Go(func() { failed <- telling.Serve(health) })
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
	for _, server := range []*http.Server{answering, telling} {
		_ = server.Shutdown(stopping) // who is not done by then is cut off
		_ = server.Close()
	}
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// server is one with the limits that both have.
func (s *Server) server(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		TLSConfig: &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.opts.Certificate() },
		},
	}
}
