//go:build e2e

package kubelab

import (
	"fmt"
	"os"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/test/await"
)

// Manager is the field manager of objects that a lab applies.
const Manager = "kubelab"

func (l *Lab) connect() {
	l.tb.Helper()
	var err error
	if l.client, err = kubernetes.NewForConfig(l.Config()); err != nil {
		l.tb.Fatal(err)
	}
	if l.objects, err = dynamic.NewForConfig(l.Config()); err != nil {
		l.tb.Fatal(err)
	}
	l.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(l.client.Discovery()))
}

// Client is a client with administrator permissions.
func (l *Lab) Client() kubernetes.Interface { return l.client }

// Objects is a client for any kind of object with administrator permissions.
func (l *Lab) Objects() dynamic.Interface { return l.objects }

// resource finds the resource for the kind of o.
func (l *Lab) resource(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := o.GroupVersionKind()
	mapping, err := l.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		l.mapper.Reset()
		mapping, err = l.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return l.objects.Resource(mapping.Resource), nil
	}
	namespace := o.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return l.objects.Resource(mapping.Resource).Namespace(namespace), nil
}

// TryApply applies one object with server-side apply, as `kubectl apply --server-side` does, and returns the result. With
// dryRun nothing is stored.
func (l *Lab) TryApply(o *unstructured.Unstructured, dryRun bool) (*unstructured.Unstructured, error) {
	resource, err := l.resource(o)
	if err != nil {
		return nil, err
	}
	raw, err := o.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
	}
	force := true
	opts := metav1.PatchOptions{FieldManager: Manager, Force: &force, FieldValidation: metav1.FieldValidationStrict}
	if dryRun {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	got, err := resource.Patch(l.tb.Context(), o.GetName(), types.ApplyPatchType, raw, opts)
	if err != nil {
		return nil, fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return got, nil
}

// Apply applies manifests with server-side apply.
func (l *Lab) Apply(manifests string) {
	l.tb.Helper()
	l.ApplyObjects(Parse(l.tb, manifests))
}

// ApplyObjects applies objects in the given order. It waits for the service account of a pod, as a controller would, and until the
// server's discovery knows a kind that was defined just now.
func (l *Lab) ApplyObjects(objects []*unstructured.Unstructured) {
	l.tb.Helper()
	for _, o := range objects {
		var err error
		await.True(l.tb, func() bool {
			_, err = l.TryApply(o, false)
			return err == nil || (!apierrors.IsForbidden(err) && !meta.IsNoMatchError(err))
		}, "%s", "the server takes "+o.GetKind()+" "+o.GetName())
		if err != nil {
			l.tb.Fatal(err)
		}
	}
}

// Status merges into the status of objects that exist.
func (l *Lab) Status(manifests string) {
	l.tb.Helper()
	l.StatusObjects(Parse(l.tb, manifests))
}

// StatusObjects merges into the status of objects that exist.
func (l *Lab) StatusObjects(objects []*unstructured.Unstructured) {
	l.tb.Helper()
	for _, o := range objects {
		resource, err := l.resource(o)
		if err != nil {
			l.tb.Fatal(err)
		}
		raw, err := o.MarshalJSON()
		if err != nil {
			l.tb.Fatal(err)
		}
		if _, err = resource.Patch(l.tb.Context(), o.GetName(), types.MergePatchType, raw, metav1.PatchOptions{}, "status"); err != nil {
			l.tb.Fatalf("status of %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// Parse reads manifests.
func Parse(tb interface {
	Helper()
	Fatalf(format string, args ...any)
}, manifests string,
) []*unstructured.Unstructured {
	tb.Helper()
	var all []*unstructured.Unstructured
	for _, text := range documents(manifests) {
		var content map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &content); err != nil {
			tb.Fatalf("%v:\n%s", err, text)
		}
		if len(content) > 0 {
			all = append(all, &unstructured.Unstructured{Object: content})
		}
	}
	return all
}

// Token returns a token of the API server for a service account.
func (l *Lab) Token(namespace, name string) string {
	l.tb.Helper()
	lifetime := int64(24 * 60 * 60)
	got, err := l.client.CoreV1().ServiceAccounts(namespace).CreateToken(l.tb.Context(), name, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &lifetime},
	}, metav1.CreateOptions{})
	if err != nil {
		l.tb.Fatalf("token of service account %s/%s: %v", namespace, name, err)
	}
	return got.Status.Token
}

// Kubeconfig writes a kubeconfig with administrator permissions.
func (l *Lab) Kubeconfig() string { return l.kubeconfig("admin") }

// kubeconfig writes a kubeconfig with the certificate of that name.
func (l *Lab) kubeconfig(name string) string {
	l.tb.Helper()
	return l.writeKubeconfig(name, &clientcmdapi.AuthInfo{
		ClientCertificate: l.path(name + ".crt"), ClientKey: l.path(name + ".key"),
	})
}

// TokenKubeconfig writes a kubeconfig with a token.
func (l *Lab) TokenKubeconfig(name, token string) string {
	l.tb.Helper()
	return l.writeKubeconfig(name, &clientcmdapi.AuthInfo{Token: token})
}

func (l *Lab) writeKubeconfig(name string, user *clientcmdapi.AuthInfo) string {
	l.tb.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["kubelab"] = &clientcmdapi.Cluster{
		Server: l.Config().Host, CertificateAuthority: l.path("ca.crt"),
	}
	config.AuthInfos[name] = user
	config.Contexts["kubelab"] = &clientcmdapi.Context{Cluster: "kubelab", AuthInfo: name}
	config.CurrentContext = "kubelab"
	path := filepath.Join(l.dir, name+".kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		l.tb.Fatal(err)
	}
	return path
}

// authorityCertificate is the CA certificate for clients.
func (l *Lab) authorityCertificate() []byte {
	l.tb.Helper()
	raw, err := os.ReadFile(l.path("ca.crt"))
	if err != nil {
		l.tb.Fatal(err)
	}
	return raw
}
