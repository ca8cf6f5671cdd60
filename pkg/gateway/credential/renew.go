package credential

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/sirupsen/logrus"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/transport"
)

const (
	day          = 24 * 60 * 60     // seconds
	requestTime  = 10 * time.Second // for a TokenRequest at one API server
	renewTokenAt = 0.5              // of its lifetime: a gateway that is away for the other half can still renew it
)

// renewing obtains tokens of a service account with the credentials of base, which may be such a token itself.
type renewing struct {
	base   source
	wanted *v1alpha1.TokenRequest
	of     *v1alpha1.UpstreamCluster
	log    logrus.FieldLogger

	token *credential // the last one; nil if there is none
	due   time.Time   // when to renew it
}

func (r *renewing) obtain(ctx context.Context, force bool) (*credential, error) {
	now := time.Now()
	fresh := r.token != nil && now.Before(r.due) && !force
	secret, stored := r.base.(*secretSource)
	if fresh && !stored {
		return r.token, nil
	}
	base, err := r.base.obtain(ctx, force)
	if err != nil {
		return r.still(now, err)
	}
	if stored && !force {
		if due := dueAt(base.token); now.Before(due) { // another instance may have renewed it
			r.token, r.due = base, due
			return base, nil
		}
	}
	if fresh {
		return r.token, nil
	}
	token, err := r.request(ctx, base)
	if err != nil {
		return r.still(now, fmt.Errorf("request a token: %w", err))
	}
	r.token, r.due = token, now.Add(time.Duration(renewTokenAt*float64(token.expires.Sub(now))))
	if stored && len(base.token) > 0 {
		switch err := secret.store(ctx, token.token); {
		case apierrors.IsConflict(err): // another instance has renewed it, too
		case err != nil:
			r.log.WithError(err).Error("a token was renewed, but cannot be written to its Secret: after a restart, the old one is used")
		}
	}
	return token, nil
}

// still returns the last token while it is valid, although it cannot be renewed.
func (r *renewing) still(now time.Time, err error) (*credential, error) {
	if r.token != nil && now.Before(r.token.expires) {
		return r.token, &notRenewedError{err}
	}
	return nil, err
}

// notRenewedError comes with credentials that can still be used.
type notRenewedError struct{ error }

func (e *notRenewedError) Unwrap() error { return e.error }

// dueAt is when a token of a service account is to be renewed; zero if it does not say when it expires.
func dueAt(token []byte) time.Time {
	issued, expires := lifetime(token)
	if expires.IsZero() {
		return expires
	}
	return issued.Add(time.Duration(renewTokenAt * float64(expires.Sub(issued))))
}

// request asks the API servers for a token, one after another.
func (r *renewing) request(ctx context.Context, with *credential) (*credential, error) {
	var faults []error
	for _, server := range r.of.Spec.Servers {
		if server.Disabled {
			continue
		}
		token, err := r.requestAt(ctx, server.Endpoint, with)
		if err == nil {
			return token, nil
		}
		faults = append(faults, fmt.Errorf("%s: %w", server.Endpoint, err))
	}
	if len(faults) == 0 {
		return nil, errors.New("all API servers are disabled")
	}
	return nil, errors.Join(faults...)
}

func (r *renewing) requestAt(ctx context.Context, endpoint string, with *credential) (*credential, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	at, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	config := &with.into(r.of).Spec.ClientConfig
	via, err := transport.New(at, transport.Config{
		Insecure: config.Insecure, CA: config.CAData, Cert: config.CertData, Key: config.KeyData, ServerName: config.ServerName,
		BearerToken: string(config.BearerToken),
	})
	if err != nil {
		return nil, err
	}
	defer via.Close()
	client, err := kubernetes.NewForConfigAndClient(&rest.Config{Host: endpoint, QPS: -1}, &http.Client{Transport: via})
	if err != nil {
		return nil, err
	}
	seconds := cmp.Or(r.wanted.ExpirationSeconds, day)
	account := r.wanted.ServiceAccount
	got, err := client.CoreV1().ServiceAccounts(account.Namespace).CreateToken(ctx, account.Name, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	out := &credential{token: []byte(got.Status.Token), ca: with.ca, expires: got.Status.ExpirationTimestamp.Time}
	return out, out.check()
}
