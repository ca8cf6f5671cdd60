package credential

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientv1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Annotation of a Secret names the UpstreamCluster that may use it. Without it, whoever may write UpstreamClusters could have the content
// of any Secret of the namespace sent to any server.
const Annotation = "proxy.kubegateway.io/upstream-cluster"

// The keys of a Secret: those of the types kubernetes.io/service-account-token and kubernetes.io/tls.
const (
	keyToken = "token"
	keyCert  = corev1.TLSCertKey
	keyKey   = corev1.TLSPrivateKeyKey
	keyCA    = corev1.ServiceAccountRootCAKey
)

// secretSource obtains the content of one Secret.
type secretSource struct {
	secrets clientv1.SecretInterface
	name    string
	cluster string
	last    *corev1.Secret
}

func (s *secretSource) obtain(ctx context.Context, _ bool) (*credential, error) {
	if s.secrets == nil {
		return nil, errors.New("spec.clientConfig.credentials.secretName: there is no host cluster with Secrets")
	}
	secret, err := s.secrets.Get(ctx, s.name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", s.name, err)
	}
	if got := secret.Annotations[Annotation]; got != s.cluster {
		return nil, fmt.Errorf("secret %s: its annotation %s is %q: expected %q, the cluster that may use it", s.name, Annotation, got, s.cluster)
	}
	s.last = secret
	out := &credential{token: secret.Data[keyToken], cert: secret.Data[keyCert], key: secret.Data[keyKey], ca: secret.Data[keyCA]}
	_, out.expires = lifetime(out.token)
	if err := out.check(); err != nil {
		return nil, fmt.Errorf("secret %s: %w", s.name, err)
	}
	return out, nil
}

// store writes a token to the Secret that was last read, unless it has changed since then.
func (s *secretSource) store(ctx context.Context, token []byte) error {
	next := s.last.DeepCopy()
	next.Data[keyToken] = token
	_, err := s.secrets.Update(ctx, next, metav1.UpdateOptions{})
	return err
}
