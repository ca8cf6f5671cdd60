package webhook_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/answers/lint"
	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/inputs/kube"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/serve/webhook"
	"github.com/netloom/netloom/pkg/serve/webhook/bucket"
	"github.com/netloom/netloom/pkg/serve/webhook/consistency"
)

// rig is a server over an API of fakes.
type rig struct {
	*webhook.Server
	source  *kube.Source
	kube    *fake.Clientset
	meta    *metadatafake.FakeMetadataClient
	dynamic *dynamicfake.FakeDynamicClient
	log     *bytes.Buffer
}

// deny has everything checked.
func deny() map[consistency.Check]webhook.Mode {
	return map[consistency.Check]webhook.Mode{
		consistency.Dependencies: webhook.Deny, consistency.DuplicateCNF: webhook.Deny, consistency.Purpose: webhook.Deny,
		consistency.PlainSecrets: webhook.Warn,
	}
}

func newRig(t *testing.T, checks map[consistency.Check]webhook.Mode) *rig {
	t.Helper()
	metaScheme := metadatafake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(metaScheme))
	lists := map[schema.GroupVersionResource]string{}
	for _, r := range v1alpha1.Resources() {
		lists[v1alpha1.GroupVersion.WithResource(r.Plural)] = r.Kind + "List"
	}
	for _, r := range source.Resources() {
		if r.Custom {
			lists[r.GroupVersionResource()] = r.Kind + "List"
		}
	}
	role := &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "create-intent",
			Annotations: map[string]string{bucket.Annotation: `{ "mwan3policies": ["app-intent"] }`},
		},
	}
	cnf := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cnf", Labels: map[string]string{v1alpha1.LabelPurpose: "cnf1"}},
	}
	r := &rig{
		kube: fake.NewClientset(&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "create-intent"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "create-intent"},
			Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "onap"}},
		}),
		meta:    metadatafake.NewSimpleMetadataClient(metaScheme, role, cnf),
		dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, object(t, policyText)),
		log:     &bytes.Buffer{},
	}
	log := logrus.New()
	log.SetOutput(r.log)
	opts := webhook.Options{
		Certificate: func() (*tls.Certificate, error) { return &tls.Certificate{}, nil },
		Bucket:      bucket.Policy{ExemptUsers: bucket.DefaultExemptUsers(), ExemptGroups: bucket.DefaultExemptGroups()},
		Checks:      checks, Advice: &lint.Costs{}, Gate: "netloom.io/network-policy",
	}
	r.source = kube.New(r.kube, kube.Options{Options: source.Options{Kinds: opts.Kinds()}, SDWAN: r.dynamic, ClusterPolicies: r.dynamic, Metadata: r.meta}, log)
	server, err := webhook.New([]webhook.Source{r.source}, opts, log)
	require.NoError(t, err)
	r.Server = server
	return r
}

// feed runs the source, and takes in what it delivers.
func (r *rig) feed(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { _ = r.source.Run(ctx) })
	r.Feed(ctx)
}

const policyText = `{apiVersion: batch.sdewan.akraino.org/v1alpha1, kind: Mwan3Policy, metadata: {namespace: default, name: balance,
  labels: {sdewanPurpose: cnf1, sdewan-bucket-type: app-intent}}, spec: {members: []}}`

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &u.Object))
	return u
}

// request is an update from before to after; "" is none, which makes it a creation or a deletion.
func request(t *testing.T, user, resource, before, after string) *admissionv1.AdmissionRequest {
	t.Helper()
	r := &admissionv1.AdmissionRequest{
		UID: "1234", Operation: admissionv1.Update, Namespace: "default",
		UserInfo: authenticationv1.UserInfo{Username: user, Groups: []string{"system:authenticated"}},
		Resource: metav1.GroupVersionResource{Group: v1alpha1.Group, Version: v1alpha1.Version, Resource: resource},
	}
	for _, o := range []struct {
		text string
		raw  *runtime.RawExtension
		op   admissionv1.Operation
	}{{before, &r.OldObject, admissionv1.Create}, {after, &r.Object, admissionv1.Delete}} {
		if o.text == "" {
			r.Operation = o.op
			continue
		}
		u := object(t, o.text)
		gvk := u.GroupVersionKind()
		r.Kind, r.Name = metav1.GroupVersionKind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind}, u.GetName()
		raw, err := u.MarshalJSON()
		require.NoError(t, err)
		o.raw.Raw = raw
	}
	return r
}

// send posts a request and returns the response, or the code of HTTP.
func (r *rig) send(t *testing.T, path string, request *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, int) {
	t.Helper()
	body, err := json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: request,
	})
	require.NoError(t, err)
	return r.post(t, path, "application/json", bytes.NewReader(body))
}

func (r *rig) post(t *testing.T, path, kind string, body io.Reader) (*admissionv1.AdmissionResponse, int) {
	t.Helper()
	h := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, body)
	h.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, h)
	if w.Code != http.StatusOK {
		return nil, w.Code
	}
	review := &admissionv1.AdmissionReview{}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), review))
	require.Equal(t, "admission.k8s.io/v1", review.APIVersion)
	require.Equal(t, "1234", string(review.Response.UID))
	return review.Response, w.Code
}

// verdict formats a response: allowed, or the refusal, and the warnings.
func (r *rig) verdict(t *testing.T, path string, request *admissionv1.AdmissionRequest) string {
	t.Helper()
	response, code := r.send(t, path, request)
	require.Equal(t, http.StatusOK, code)
	text := "allowed"
	if !response.Allowed {
		text = response.Result.Message
	}
	for _, w := range response.Warnings {
		text += " | " + w
	}
	return text
}

// fed runs test with a server that has listed everything.
func fed(t *testing.T, checks map[consistency.Check]webhook.Mode, test func(*testing.T, *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, checks)
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.feed(t.Context())
		}()
		t.Cleanup(func() { <-done })
		time.Sleep(2 * time.Second) // informers look for what they wait for at intervals
		synctest.Wait()
		test(t, r)
	})
}

func get(t *testing.T, h http.Handler, path string) (code int, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
	return w.Code, w.Body.String()
}

func TestNothingIsJudgedBeforeEverythingIsListed(t *testing.T) {
	r := newRig(t, deny())
	for _, path := range []string{webhook.PathBucket, webhook.PathWorkload, webhook.PathObject, webhook.PathPolicy} {
		_, code := r.send(t, path, request(t, "onap", "mwan3policies", "", policyText))
		require.Equal(t, http.StatusServiceUnavailable, code, path)
	}
	code, text := get(t, r.Health(), "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, text, "rolebindings have not been listed")
	code, _ = get(t, r.Health(), "/healthz")
	require.Equal(t, http.StatusOK, code)
}

func TestBucketPermission(t *testing.T) {
	fed(t, deny(), func(t *testing.T, r *rig) {
		basic := strings.Replace(policyText, "app-intent", "basic", 1)
		none := strings.Replace(policyText, ", sdewan-bucket-type: app-intent", "", 1)
		ask := func(user, before, after string) string {
			return r.verdict(t, webhook.PathBucket, request(t, user, "mwan3policies", before, after))
		}
		refused := func(user string, what string) string {
			return "User(" + user + ") don't have the permission | no role grants bucket " + what + " of mwan3policies in namespace default"
		}
		require.Equal(t, "allowed", ask("onap", "", policyText))
		require.Equal(t, "allowed", ask("onap", policyText, policyText))
		require.Equal(t, "allowed", ask("onap", policyText, ""))
		require.Equal(t, refused("onap", "basic"), ask("onap", "", basic))
		require.Equal(t, refused("onap", "basic"), ask("onap", basic, policyText), "the old object's label")
		require.Equal(t, refused("onap", "basic"), ask("onap", policyText, basic), "the new object's label")
		require.Equal(t, refused("onap", "basic"), ask("onap", basic, ""), "deletions read the old object")
		require.Equal(t, refused("bob", "app-intent"), ask("bob", "", policyText))
		require.Equal(t, "allowed", ask("bob", "", none))

		// Roles and bindings that change take effect, and nothing was asked while judging.
		asked := len(r.kube.Actions()) + len(r.meta.Actions()) + len(r.dynamic.Actions())
		for range 100 {
			ask("bob", "", policyText)
		}
		require.Equal(t, asked, len(r.kube.Actions())+len(r.meta.Actions())+len(r.dynamic.Actions()))
		_, err := r.kube.RbacV1().RoleBindings("default").Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "bob"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "create-intent"},
			Subjects:   []rbacv1.Subject{{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "system:authenticated"}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, "allowed", ask("bob", "", policyText))
		require.NoError(t, r.kube.RbacV1().RoleBindings("default").Delete(t.Context(), "bob", metav1.DeleteOptions{}))
		synctest.Wait()
		require.Equal(t, refused("bob", "app-intent"), ask("bob", "", policyText))

		response, _ := r.send(t, webhook.PathBucket, request(t, "onap", "mwan3policies", "", policyText))
		require.Equal(t, map[string]string{"why": "RoleBinding default/create-intent to Role default/create-intent"}, response.AuditAnnotations)
	})
}

func TestEveryResourceIsUnderBuckets(t *testing.T) {
	fed(t, nil, func(t *testing.T, r *rig) {
		for _, resource := range v1alpha1.Resources() {
			text := strings.Replace(policyText, "Mwan3Policy", resource.Kind, 1)
			got := r.verdict(t, webhook.PathBucket, request(t, "bob", resource.Plural, "", text))
			require.Contains(t, got, "User(bob) don't have the permission", resource.Plural)
		}
	})
}

func TestWhatCannotBeUnderstoodIsRefused(t *testing.T) {
	fed(t, deny(), func(t *testing.T, r *rig) {
		good := request(t, "onap", "mwan3policies", "", policyText)
		for want, spoil := range map[string]func(*admissionv1.AdmissionRequest){
			"The group is not batch.sdewan.akraino.org":                                            func(q *admissionv1.AdmissionRequest) { q.Resource.Group = "apps" },
			"Kind is not supported: mwan3things":                                                   func(q *admissionv1.AdmissionRequest) { q.Resource.Resource = "mwan3things" },
			"We don't support operation type: CONNECT":                                             func(q *admissionv1.AdmissionRequest) { q.Operation = admissionv1.Connect },
			"object: there is no object in the request":                                            func(q *admissionv1.AdmissionRequest) { q.Object.Raw = nil },
			"oldObject: there is no object in the request":                                         func(q *admissionv1.AdmissionRequest) { q.Operation = admissionv1.Delete },
			"object: json: cannot unmarshal string into Go value of type v1.PartialObjectMetadata": func(q *admissionv1.AdmissionRequest) { q.Object.Raw = []byte(`"x"`) },
		} {
			q := good.DeepCopy()
			spoil(q)
			require.Equal(t, want, r.verdict(t, webhook.PathBucket, q))
		}
		for kind, body := range map[string]string{
			"text/plain":                      `{}`,
			"application/json":                `{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "request": {}}`,
			"application/json; charset=utf-8": `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}`,
			"":                                ``,
		} {
			_, code := r.post(t, webhook.PathBucket, kind, strings.NewReader(body))
			require.Contains(t, []int{http.StatusBadRequest, http.StatusUnsupportedMediaType}, code, kind)
		}
		_, code := r.post(t, webhook.PathBucket, "application/json", strings.NewReader(`"`+strings.Repeat("x", 9<<20)+`"`))
		require.Equal(t, http.StatusRequestEntityTooLarge, code)
		_, code = r.post(t, "/elsewhere", "application/json", strings.NewReader(`{}`))
		require.Equal(t, http.StatusNotFound, code)
	})
}

const ruleText = `{apiVersion: batch.sdewan.akraino.org/v1alpha1, kind: Mwan3Rule, metadata: {namespace: default, name: r,
  labels: {sdewanPurpose: cnf1}}, spec: {policy: balance}}`

func TestDependencies(t *testing.T) {
	const hint = "; if it was created on the device by hand, name it in the annotation netloom.io/on-device"
	other := strings.Replace(ruleText, "policy: balance", "policy: other", 1)
	missing := "spec.policy: Mwan3Policy default/other does not exist" + hint
	t.Run("deny", func(t *testing.T) {
		fed(t, deny(), func(t *testing.T, r *rig) {
			ask := func(user, before, after string) string {
				return r.verdict(t, webhook.PathObject, request(t, user, "mwan3rules", before, after))
			}
			require.Equal(t, "allowed", ask("ann", "", ruleText))
			require.Equal(t, missing, ask("ann", "", other))
			require.Equal(t, "allowed | "+missing, ask("ann", other, other), "it was no better before")
			require.Equal(t, "allowed", ask("ann", "", strings.Replace(other, "name: r,", "name: r, annotations: {netloom.io/on-device: other},", 1)))

			_, err := r.dynamic.Resource(v1alpha1.GroupVersion.WithResource("mwan3rules")).Namespace("default").
				Create(t.Context(), object(t, ruleText), metav1.CreateOptions{})
			require.NoError(t, err)
			synctest.Wait()
			require.Equal(t, "Mwan3Policy default/balance is still used by Mwan3Rule default/r", ask("ann", policyText, ""))
			require.Equal(t, "allowed", ask("system:serviceaccount:kube-system:namespace-controller", policyText, ""))
		})
	})
	t.Run("warn", func(t *testing.T) {
		fed(t, map[consistency.Check]webhook.Mode{consistency.Dependencies: webhook.Warn}, func(t *testing.T, r *rig) {
			require.Equal(t, "allowed | "+missing, r.verdict(t, webhook.PathObject, request(t, "ann", "mwan3rules", "", other)))
		})
	})
	t.Run("off", func(t *testing.T) {
		fed(t, nil, func(t *testing.T, r *rig) {
			require.Equal(t, "allowed", r.verdict(t, webhook.PathObject, request(t, "ann", "mwan3rules", "", other)))
			for _, action := range r.dynamic.Actions() {
				require.NotEqual(t, v1alpha1.Group, action.GetResource().Group, "nothing is read for it")
			}
		})
	})
}

func TestKindsThatCannotBeListedAreNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, deny())
		var refused atomic.Bool
		refused.Store(true)
		r.dynamic.PrependReactor("list", "mwan3policies", func(clienttesting.Action) (bool, runtime.Object, error) {
			return refused.Load(), nil, apierrors.NewForbidden(schema.GroupResource{Resource: "mwan3policies"}, "", errors.New("no right"))
		})
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.feed(t.Context())
		}()
		t.Cleanup(func() { <-done })
		time.Sleep(2 * time.Second)
		synctest.Wait()
		other := request(t, "ann", "mwan3rules", "", strings.Replace(ruleText, "policy: balance", "policy: other", 1))
		require.Equal(t, "allowed", r.verdict(t, webhook.PathObject, other))
		code, text := get(t, r.Health(), "/readyz")
		require.Equal(t, http.StatusOK, code)
		require.Equal(t, "ok\ndegraded: references to mwan3policies are not checked: mwan3policies is forbidden: no right\n", text)
		require.Contains(t, r.log.String(), "mwan3policies is forbidden")
		refused.Store(false)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		require.Contains(t, r.verdict(t, webhook.PathObject, other), "Mwan3Policy default/other does not exist")
		_, text = get(t, r.Health(), "/readyz")
		require.Equal(t, "ok\n", text, "it is forgotten once there is a watch")
	})
}

func TestRolesThatCannotBeListedRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, deny())
		r.meta.PrependReactor("list", "clusterroles", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "clusterroles"}, "", errors.New("no right"))
		})
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.feed(t.Context())
		}()
		t.Cleanup(func() { <-done })
		time.Sleep(time.Minute)
		synctest.Wait()
		_, code := r.send(t, webhook.PathBucket, request(t, "onap", "mwan3policies", "", policyText))
		require.Equal(t, http.StatusServiceUnavailable, code)
		_, text := get(t, r.Health(), "/readyz")
		require.Contains(t, text, "clusterroles is forbidden: no right")
	})
}

func TestLabelAndWorkloads(t *testing.T) {
	fed(t, deny(), func(t *testing.T, r *rig) {
		const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: default, name: NAME, labels: {sdewanPurpose: PURPOSE}}, spec: {replicas: 2}}`
		text := func(name, purpose string) string {
			return strings.NewReplacer("NAME", name, "PURPOSE", purpose).Replace(deployment)
		}
		ask := func(before, after string) string {
			return r.verdict(t, webhook.PathWorkload, request(t, "ann", "deployments", before, after))
		}
		require.Equal(t, `metadata.labels[sdewanPurpose]: Deployment default/cnf is already the CNF "cnf1" of namespace default; expected one workload`,
			ask("", text("second", "cnf1")))
		require.Equal(t, "allowed", ask("", text("second", "cnf2")))
		require.Equal(t, "allowed", ask("", text("cnf", "cnf1")))
		require.Equal(t, "Label 'sdewanPurpose' is immutable", ask(text("cnf", "cnf1"), text("cnf", "cnf2")))
		require.Equal(t, "allowed", ask(text("cnf", "cnf1"), ""))
		require.Equal(t, "Label 'sdewanPurpose' is immutable", r.verdict(t, webhook.PathLabel,
			request(t, "ann", "mwan3policies", policyText, strings.Replace(policyText, "cnf1", "cnf2", 1))))
		require.Equal(t, "allowed", r.verdict(t, webhook.PathLabel, request(t, "ann", "mwan3policies", policyText, policyText)))
	})
}

func TestWarnings(t *testing.T) {
	fed(t, deny(), func(t *testing.T, r *rig) {
		const site = `{apiVersion: batch.sdewan.akraino.org/v1alpha1, kind: IpsecSite, metadata: {namespace: default, name: s}, spec: {pre_shared_key: hunter2}}`
		require.Equal(t, "allowed | spec.pre_shared_key: is in clear text for everyone who may read the object; pre_shared_key_secret refers to a Secret instead",
			r.verdict(t, webhook.PathObject, request(t, "ann", "ipsecsites", "", site)))
		require.NotContains(t, r.log.String(), "hunter2")

		const policy = `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {namespace: default, name: p, labels: {x: LABEL}}, spec: {podSelector: {matchLabels: {app: web}}}}`
		ask := func(before, after string) string {
			return r.verdict(t, webhook.PathPolicy, request(t, "ann", "networkpolicies", before, after))
		}
		require.Equal(t, "allowed | spec.podSelector: selects no pod at present", ask("", policy))
		require.Equal(t, "allowed", ask(strings.Replace(policy, "LABEL", "z", 1), policy), "the spec is the same")
		require.Equal(t, "allowed", ask(policy, ""))
		_, err := r.kube.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0", Labels: map[string]string{"app": "web"}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, "allowed", ask("", policy))

		const lockdown = `{apiVersion: policy.networking.k8s.io/v1alpha2, kind: ClusterNetworkPolicy, metadata: {name: l, labels: {x: LABEL}}, spec: {tier: Admin, priority: 1,
			subject: {namespaces: {}}, egress: [{action: Deny, to: [{pods: {namespaceSelector: {}, podSelector: {matchLabels: {app: ipa}}}}]}, {action: Deny, to: [{nodes: {}}]},
			{action: Accept, to: [{domainNames: [example.org]}]}, {action: Deny, to: []}]}}`
		askCluster := func(before, after string) string {
			return r.verdict(t, webhook.PathPolicy, request(t, "ann", "clusternetworkpolicies", before, after))
		}
		require.Equal(t, "allowed | spec.egress[3].to: expected at least one peer; the rule denies everything | spec.subject: selects no pod at present | spec.egress[0].to: matches nothing at present",
			askCluster("", lockdown))
		require.Equal(t, "allowed", askCluster(strings.Replace(lockdown, "LABEL", "z", 1), lockdown), "the spec is the same")

		const role = `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {namespace: default, name: r, annotations: {sdewan-bucket-type-permission: '{"a" ["b"]}'}}}`
		require.Contains(t, r.verdict(t, webhook.PathRole, request(t, "ann", "roles", "", role)), "allowed | metadata.annotations[sdewan-bucket-type-permission]: invalid character")
	})
}

func TestMetricsAndLog(t *testing.T) {
	fed(t, deny(), func(t *testing.T, r *rig) {
		r.send(t, webhook.PathBucket, request(t, "bob", "mwan3policies", "", policyText))
		r.send(t, webhook.PathBucket, request(t, "onap", "mwan3policies", "", policyText))
		_, text := get(t, r.Health(), "/metrics")
		require.Contains(t, text, `netloom_admission_requests_total{operation="CREATE",path="/validate-sdewan-bucket-permission",result="allowed"} 1`)
		require.Contains(t, text, `netloom_admission_requests_total{operation="CREATE",path="/validate-sdewan-bucket-permission",result="denied"} 1`)
		require.Contains(t, r.log.String(), "user=bob")
	})
}

// TestPoliciesAreComparedWithThoseThatExist has one kind of policies that the API does not have, one that may not be listed, and one
// that is created while the server runs.
func TestPoliciesAreComparedWithThoseThatExist(t *testing.T) {
	const (
		existing = `{apiVersion: policy.networking.k8s.io/v1alpha2, kind: ClusterNetworkPolicy, metadata: {name: lockdown},
			spec: {tier: Admin, priority: 1, subject: {namespaces: {}}, ingress: [{action: Deny, from: [{namespaces: {}}]}]}}`
		other = `{apiVersion: policy.networking.k8s.io/v1alpha2, kind: ClusterNetworkPolicy, metadata: {name: other},
			spec: {tier: Admin, priority: 2, subject: {namespaces: {}}, ingress: [{action: Accept, from: [{namespaces: {}}]}]}}`
	)
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		_, err := r.kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		web := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Status: corev1.PodStatus{PodIP: "10.0.0.1"}}
		_, err = r.kube.CoreV1().Pods("default").Create(t.Context(), web, metav1.CreateOptions{})
		require.NoError(t, err)
		refuse := func(plural string, err error) {
			r.dynamic.PrependReactor("list", plural, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err })
		}
		refuse("adminnetworkpolicies", apierrors.NewNotFound(schema.GroupResource{Resource: "adminnetworkpolicies"}, ""))
		baseline := schema.GroupResource{Group: "policy.networking.k8s.io", Resource: "baselineadminnetworkpolicies"}
		r.kube.Resources = []*metav1.APIResourceList{
			{GroupVersion: "policy.networking.k8s.io/v1alpha1", APIResources: []metav1.APIResource{{Name: baseline.Resource}}},
			{GroupVersion: "policy.networking.k8s.io/v1alpha2", APIResources: []metav1.APIResource{{Name: "clusternetworkpolicies", Verbs: metav1.Verbs{"create"}}}},
		}
		refuse(baseline.Resource, apierrors.NewForbidden(baseline, "", errors.New("no right")))
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.feed(t.Context())
		}()
		t.Cleanup(func() { <-done })
		time.Sleep(2 * time.Second)
		synctest.Wait()
		code, text := get(t, r.Health(), "/readyz")
		require.Equal(t, http.StatusOK, code, text)
		require.Equal(t, "ok\ndegraded: policies are not compared with baselineadminnetworkpolicies: "+
			"baselineadminnetworkpolicies.policy.networking.k8s.io is forbidden: no right\n", text)

		ask := func() string {
			return r.verdict(t, webhook.PathPolicy, request(t, "ann", "clusternetworkpolicies", "", other))
		}
		require.Equal(t, "allowed", ask())
		policies := r.dynamic.Resource(schema.GroupVersionResource{
			Group: "policy.networking.k8s.io", Version: "v1alpha2", Resource: "clusternetworkpolicies",
		})
		_, err = policies.Create(t.Context(), object(t, existing), metav1.CreateOptions{})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, "allowed | spec: ingress: has no effect at present: what it matches is decided before by ClusterNetworkPolicy/lockdown spec.ingress[0]", ask())
		require.NoError(t, policies.Delete(t.Context(), "lockdown", metav1.DeleteOptions{}))
		time.Sleep(2 * time.Second) // the definition might have been removed with it
		synctest.Wait()
		require.Equal(t, "allowed", ask())
	})
}
