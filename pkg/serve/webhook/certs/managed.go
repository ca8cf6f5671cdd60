package certs

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// The label that names the owner of a Secret.
const (
	ownerLabel = "app.kubernetes.io/managed-by"
	owner      = "netloom"
)

// Options configures the names and the lifetime of certificates.
type Options struct {
	Namespace string   // of the Secret
	Secret    string   // its name
	Names     []string // DNS names that the API server calls
	// Configurations are the ValidatingWebhookConfigurations whose webhooks get the trusted authorities.
	Configurations []string
	// Mutating are the MutatingWebhookConfigurations whose webhooks get them too.
	Mutating []string

	Validity    time.Duration // of a certificate; 0 is 90 days
	RenewBefore time.Duration // how long before its end it is renewed; 0 is a third of Validity
	Overlap     time.Duration // between trusting a new authority and serving its certificate; 0 is an hour
	Interval    time.Duration // between checks of the Secret; 0 is a minute
}

// retry is the pause after a failure; each further failure doubles it.
const retry = time.Second

// Managed makes certificates, keeps them in a Secret and renews them. NewManaged makes one.
type Managed struct {
	client kubernetes.Interface
	opts   Options
	log    logrus.FieldLogger
	now    atomic.Pointer[tls.Certificate]
	failed atomic.Pointer[error] // the error of the last round; nil if it succeeded
}

// NewManaged makes a Managed that has no certificate before it runs.
func NewManaged(client kubernetes.Interface, opts Options, log logrus.FieldLogger) *Managed {
	opts.Validity = cmp.Or(opts.Validity, 90*24*time.Hour)
	opts.RenewBefore = cmp.Or(opts.RenewBefore, opts.Validity/3)
	opts.Overlap = cmp.Or(opts.Overlap, time.Hour)
	opts.Interval = cmp.Or(opts.Interval, time.Minute)
	return &Managed{client: client, opts: opts, log: log}
}

// errNone is the error of a handshake that comes too early.
var errNone = errors.New("there is no certificate yet")

// Certificate returns the one to serve now. It fails before there is a first one, with the reason.
func (m *Managed) Certificate() (*tls.Certificate, error) {
	if c := m.now.Load(); c != nil {
		return c, nil
	}
	if err := m.Trouble(); err != nil {
		return nil, fmt.Errorf("%w: %w", errNone, err)
	}
	return nil, errNone
}

// Trouble returns why the certificate cannot be renewed at present, even if one is served; nil if it can.
func (m *Managed) Trouble() error {
	if err := m.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Run keeps the certificate until ctx ends. Failures are logged and retried.
func (m *Managed) Run(ctx context.Context) error {
	failed := ""
	pause := retry
	for {
		wait := m.opts.Interval
		err := m.round(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was asked to stop
		}
		switch {
		case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err):
			wait = min(retry, wait) // another replica was faster: use what it wrote
		case err != nil:
			m.failed.Store(&err)
			wait = min(pause, wait)
			pause = min(2*pause, m.opts.Interval)
			if err.Error() != failed {
				failed = err.Error()
				m.log.WithError(err).Warn("cannot maintain the webhook's certificate")
			}
		default:
			m.failed.Store(nil)
			failed, pause = "", retry
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// round reads the Secret, has the API server trust its authorities, and takes a step if one is due.
func (m *Managed) round(ctx context.Context) error {
	secrets := m.client.CoreV1().Secrets(m.opts.Namespace)
	secret, err := secrets.Get(ctx, m.opts.Secret, metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	switch {
	case missing:
		secret = &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: m.opts.Namespace, Name: m.opts.Secret, Labels: map[string]string{ownerLabel: owner},
			},
			Type: corev1.SecretTypeTLS,
		}
	case err != nil:
		return fmt.Errorf("read Secret %s/%s: %w", m.opts.Namespace, m.opts.Secret, err)
	case secret.Labels[ownerLabel] != owner:
		return fmt.Errorf("read Secret %s/%s: expected the label %s=%s; it belongs to someone else and is not changed",
			m.opts.Namespace, m.opts.Secret, ownerLabel, owner)
	}
	s := stateOf(secret.Data)
	var failed error
	if !missing {
		failed = m.trust(ctx, s.authorities)
	}
	step, err := m.opts.step(&s, time.Now(), failed == nil)
	if err != nil {
		return err
	}
	if step != "" {
		secret.Data = s.data()
		if missing {
			_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
		} else {
			_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
		}
		if err != nil {
			return fmt.Errorf("write Secret %s/%s: %w", m.opts.Namespace, m.opts.Secret, err)
		}
		m.log.WithFields(logrus.Fields{"secret": m.opts.Namespace + "/" + m.opts.Secret, "until": s.serving.end()}).Info(step)
		failed = m.trust(ctx, s.authorities)
	}
	c, err := s.serving.load()
	if err != nil {
		return fmt.Errorf("read Secret %s/%s: %w", m.opts.Namespace, m.opts.Secret, err) // step made one
	}
	m.now.Store(c)
	return failed
}

// trust makes the webhooks of the configurations trust authorities.
func (m *Managed) trust(ctx context.Context, authorities []byte) error {
	var errs []error
	api := m.client.AdmissionregistrationV1()
	for _, name := range m.opts.Configurations {
		c, err := api.ValidatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			trusted := map[string][]byte{}
			for i := range c.Webhooks {
				trusted[c.Webhooks[i].Name] = c.Webhooks[i].ClientConfig.CABundle
			}
			err = trustIn(ctx, name, trusted, authorities, api.ValidatingWebhookConfigurations().Patch)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("ValidatingWebhookConfiguration %s: %w", name, err))
		}
	}
	for _, name := range m.opts.Mutating {
		c, err := api.MutatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			trusted := map[string][]byte{}
			for i := range c.Webhooks {
				trusted[c.Webhooks[i].Name] = c.Webhooks[i].ClientConfig.CABundle
			}
			err = trustIn(ctx, name, trusted, authorities, api.MutatingWebhookConfigurations().Patch)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("MutatingWebhookConfiguration %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// patcher writes a kind of webhook configurations.
type patcher[T any] func(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error)

// trustIn makes the webhooks of a configuration trust authorities, given those that each trusts now.
func trustIn[T any](ctx context.Context, name string, trusted map[string][]byte, authorities []byte, write patcher[T]) error {
	var changes []map[string]any
	for _, webhook := range slices.Sorted(maps.Keys(trusted)) {
		if !bytes.Equal(trusted[webhook], authorities) {
			changes = append(changes, map[string]any{"name": webhook, "clientConfig": map[string]any{"caBundle": authorities}})
		}
	}
	if len(changes) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"webhooks": changes})
	if err != nil {
		return err
	}
	_, err = write(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return err
}
