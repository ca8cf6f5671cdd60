package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/transport"
	"github.com/netloom/netloom/pkg/gateway/upstream"
)

// trialTimeout is how long all questions to one API server may take.
const trialTimeout = 10 * time.Second

// rights are what the user of clientConfig needs in a cluster, as in deploy/kustomize/upstream. Members of any group can be impersonated
// if they are also in a group that is listed; all users are in system:authenticated.
func rights() []authorizationv1.SelfSubjectAccessReviewSpec {
	resource := func(verb, group, resource, subresource, name string) authorizationv1.SelfSubjectAccessReviewSpec {
		return authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verb, Group: group, Resource: resource, Subresource: subresource, Name: name,
		}}
	}
	const authentication = "authentication.k8s.io"
	out := []authorizationv1.SelfSubjectAccessReviewSpec{
		resource("impersonate", "", "users", "", ""),
		resource("impersonate", "", "serviceaccounts", "", ""),
		resource("impersonate", "", "groups", "", "system:authenticated"),
		resource("impersonate", authentication, "uids", "", ""),
		resource("create", authentication, "tokenreviews", "", ""),
		resource("create", "authorization.k8s.io", "subjectaccessreviews", "", ""),
	}
	for _, key := range []string{"credential-id", "node-name", "node-uid", "pod-name", "pod-uid"} {
		out = append(out, resource("impersonate", authentication, "userextras", "authentication.kubernetes.io/"+key, ""))
	}
	return append(out, authorizationv1.SelfSubjectAccessReviewSpec{
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: "get", Path: "/readyz"},
	})
}

// Try connects to every API server of a cluster that is not disabled, and returns all faults: of the connection, the credentials and
// the rights of clientConfig, and of certificates and tokens that have expired at now. nil means that all of them can be used.
func Try(ctx context.Context, object *v1alpha1.UpstreamCluster, now time.Time) error {
	return tryAll(ctx, object, now, rights())
}

// TryAsOwner is Try for a gateway with Options.OwnerOnly, whose user needs no rights: the owner is to have those of the user.
func TryAsOwner(ctx context.Context, object *v1alpha1.UpstreamCluster, now time.Time) error {
	return tryAll(ctx, object, now, nil)
}

func tryAll(ctx context.Context, object *v1alpha1.UpstreamCluster, now time.Time, needed []authorizationv1.SelfSubjectAccessReviewSpec) error {
	faults := unreadable(object)
	for _, v := range validities(object) {
		faults = append(faults, v.check(now))
	}
	results := make([]error, len(object.Spec.Servers))
	var tried sync.WaitGroup
	for i, server := range object.Spec.Servers {
		if server.Disabled {
			continue
		}
		tried.Go(func() {
			if err := try(ctx, server.Endpoint, &object.Spec.ClientConfig, needed); err != nil {
				results[i] = fmt.Errorf("API server %s: %w", server.Endpoint, err)
			}
		})
	}
	tried.Wait()
	return errors.Join(append(faults, results...)...)
}

// try asks one API server whether it is ready, and which of the rights that are needed it lacks.
func try(ctx context.Context, endpoint string, config *v1alpha1.ClientConfig, needed []authorizationv1.SelfSubjectAccessReviewSpec) error {
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	at, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	via, err := transport.New(at, transport.Config{
		Insecure: config.Insecure, CA: config.CAData, Cert: config.CertData, Key: config.KeyData, ServerName: config.ServerName,
		BearerToken: string(config.BearerToken),
	})
	if err != nil {
		return err
	}
	defer via.Close()
	if err := upstream.CheckReady(ctx, via, at); err != nil {
		return fmt.Errorf("%s: %w", upstream.CauseOf(err).Text(), err)
	}
	client, err := kubernetes.NewForConfigAndClient(&rest.Config{Host: endpoint, QPS: -1}, &http.Client{Transport: via})
	if err != nil {
		return err
	}
	var missing []error
	for _, right := range needed {
		review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{Spec: right}, metav1.CreateOptions{})
		if err != nil {
			return errors.Join(append(missing, fmt.Errorf("ask for the rights of clientConfig: %w", err))...)
		}
		if !review.Status.Allowed {
			missing = append(missing, fmt.Errorf("the user of spec.clientConfig may not %s", describe(&right)))
		}
	}
	return errors.Join(missing...)
}

// describe writes a right as in a role.
func describe(right *authorizationv1.SelfSubjectAccessReviewSpec) string {
	a := right.ResourceAttributes
	if a == nil {
		return right.NonResourceAttributes.Verb + " " + right.NonResourceAttributes.Path
	}
	out := a.Verb + " " + a.Resource
	if a.Subresource != "" {
		out += "/" + a.Subresource
	}
	if a.Group != "" {
		out += " of " + a.Group
	}
	if a.Name != "" {
		out += " named " + a.Name
	}
	return out
}
