package wire_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/inputs/wire"
	"github.com/netloom/netloom/test/seeds"
)

var (
	enveloped = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	raw       = protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme)
)

// random fills objects with anything.
func random(seed uint64) *randfill.Filler {
	return randfill.NewWithSeed(int64(seed)).NilChance(0.2).NumElements(0, 3).MaxDepth(12).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewQuantity(c.Int63n(1e6), resource.DecimalSI)
		},
		func(v *intstr.IntOrString, c randfill.Continue) { *v = intstr.FromInt32(c.Int31n(1e4)) },
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.Unix(c.Int63n(1e9), 0) },
		func(f *metav1.FieldsV1, c randfill.Continue) { f.SetRawString(c.String(100)) },
	)
}

// read are the kinds that are read in protobuf.
func read(t *testing.T) []source.Resource {
	t.Helper()
	kept := slices.DeleteFunc(slices.Concat(source.Resources(), source.ReviewResources()), func(r source.Resource) bool {
		return r.Custom || r.Metadata || !scheme.Scheme.Recognizes(r.Version.WithKind(r.Kind))
	})
	require.Len(t, kept, 9)
	return kept
}

func encode(t *testing.T, by runtime.Encoder, o runtime.Object) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, by.Encode(o, &b))
	return b.Bytes()
}

// trimmed is what a client reads of an answer.
func trimmed(t *testing.T, contentType string, answer io.Reader) []byte {
	t.Helper()
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(answer)}
	wire.Trim(response)
	all, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return all
}

const (
	one    = "application/vnd.kubernetes.protobuf"
	stream = "application/vnd.kubernetes.protobuf;stream=watch"
)

// TestWhatIsLeftOutIsNotKept trims random objects of each kind on the wire and not, alone, in lists and in watches, and requires that the
// source keeps the same of both.
func TestWhatIsLeftOutIsNotKept(t *testing.T) {
	t.Parallel()
	seeds.Each(t, "wire", func(t *testing.T, seed uint64) { leaveOut(t, random(seed)) })
}

func leaveOut(t *testing.T, fill *randfill.Filler) {
	t.Helper()
	less := map[string]bool{}
	for _, r := range read(t) {
		for i := range 100 {
			o := r.New()
			fill.Fill(o)
			o.GetObjectKind().SetGroupVersionKind(r.Version.WithKind(r.Kind))
			if i%2 == 0 {
				o.SetLabels(map[string]string{v1alpha1.LabelPurpose: "cnf"}) // more is kept of a CNF
			}
			whole := encode(t, enveloped, o)
			got := trimmed(t, one, bytes.NewReader(whole))
			less[r.Kind] = less[r.Kind] || len(got) < len(whole)
			same(t, r, whole, got)

			frame := encode(t, raw, &metav1.WatchEvent{Type: "MODIFIED", Object: runtime.RawExtension{Raw: whole}})
			frame = append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)
			twice := trimmed(t, stream, iotest.OneByteReader(bytes.NewReader(slices.Concat(frame, frame))))
			size := int(binary.BigEndian.Uint32(twice))
			require.Equal(t, twice[:size+4], twice[size+4:])
			var event metav1.WatchEvent
			_, _, err := raw.Decode(twice[4:size+4], nil, &event)
			require.NoError(t, err)
			require.Equal(t, "MODIFIED", event.Type)
			require.Equal(t, got, event.Object.Raw)
		}
	}
	for _, r := range read(t) {
		require.True(t, less[r.Kind], "something of a %s is left out", r.Kind)
	}
}

// TestEventsThatAreThereAreReadTogether counts how often the body of a watch is read, each of which costs a message to the server.
func TestEventsThatAreThereAreReadTogether(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{}
	pod.Annotations = map[string]string{"example.com/large": strings.Repeat("x", 1000)}
	pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	frame := encode(t, raw, &metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: encode(t, enveloped, pod)}})
	frame = append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)
	const events = 1000
	from := &counted{Reader: bytes.NewReader(bytes.Repeat(frame, events))}
	require.NotEmpty(t, trimmed(t, stream, from))
	t.Logf("%d reads of %d events of %d bytes", from.reads, events, len(frame))
	require.Less(t, from.reads, events/10)
}

// counted counts how often it is read.
type counted struct {
	io.Reader

	reads int
}

func (c *counted) Read(p []byte) (int, error) {
	c.reads++
	return c.Reader.Read(p)
}

// TestLists trims a list of pods and one of metadata, which arrive in pieces.
func TestLists(t *testing.T) {
	t.Parallel()
	fill := random(1)
	pods := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "next"}, Items: make([]corev1.Pod, 20)}
	metadata := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "8"}, Items: make([]metav1.PartialObjectMetadata, 20)}
	for i := range pods.Items {
		fill.Fill(&pods.Items[i])
		metadata.Items[i].ObjectMeta = pods.Items[i].ObjectMeta
	}
	pods.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	got := &corev1.PodList{}
	_, _, err := enveloped.Decode(trimmed(t, one, iotest.HalfReader(bytes.NewReader(encode(t, enveloped, pods)))), nil, got)
	require.NoError(t, err)
	require.Equal(t, pods.ListMeta, got.ListMeta)
	require.Len(t, got.Items, len(pods.Items))
	for i := range pods.Items {
		row, ok := source.ResourceOf("Pod")
		require.True(t, ok)
		same(t, row, encode(t, enveloped, typed(&pods.Items[i])), encode(t, enveloped, typed(&got.Items[i])))
	}

	content, err := metadata.Marshal()
	require.NoError(t, err)
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}, Raw: content}
	content, err = unknown.Marshal()
	require.NoError(t, err)
	content = trimmed(t, one, bytes.NewReader(append([]byte("k8s\x00"), content...)))
	require.NoError(t, unknown.Unmarshal(content[4:]))
	read := &metav1.PartialObjectMetadataList{}
	require.NoError(t, read.Unmarshal(unknown.Raw))
	require.Len(t, read.Items, len(metadata.Items))
	for i := range read.Items {
		require.Equal(t, metadata.Items[i].Name, read.Items[i].Name)
		require.Empty(t, read.Items[i].ManagedFields)
	}
}

func typed(p *corev1.Pod) *corev1.Pod {
	p.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	return p
}

// TestOtherAnswers requires that nothing else is touched, and that what is no protobuf is an error and no object.
func TestOtherAnswers(t *testing.T) {
	t.Parallel()
	other := typed(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}}})
	other.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ReplicationController")) // whose kind alone counts
	whole := encode(t, enveloped, other)
	for kind, body := range map[string][]byte{
		one:                       whole, // a kind that is not read
		"application/json":        []byte(`{"kind":"Pod"}`),
		"application/json; q=\"1": []byte("{}"),
		"":                        whole,
	} {
		require.Equal(t, body, trimmed(t, kind, bytes.NewReader(body)), kind)
	}
	require.Equal(t, []byte("no object"), trimmed(t, one, bytes.NewReader([]byte("no object"))))
	require.Empty(t, trimmed(t, stream, bytes.NewReader(nil)))

	pod := encode(t, enveloped, typed(&corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}}))
	for name, answer := range map[string]struct {
		kind string
		body io.Reader
		want string
	}{
		"a list that ends in a field": {one, bytes.NewReader(pod[:len(pod)-5]), "read an answer of the API server: field 2 of protobuf: unexpected EOF"},
		"a connection that ends":      {one, iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(pod))), "timeout"},
		"an event that is cut":        {stream, bytes.NewReader([]byte{0, 0, 0, 9, 10}), "unexpected EOF"},
		"a length that is cut":        {stream, bytes.NewReader([]byte{0, 0}), "unexpected EOF"},
		"an event that is no message": {stream, bytes.NewReader([]byte{0, 0, 0, 2, 18, 9}), "read an event of a watch: field 2 of protobuf: unexpected EOF"},
		"an event that is too large":  {stream, bytes.NewReader([]byte{1, 0, 0, 1}), "read an event of a watch: 16777217 bytes, expected at most 16777216"},
	} {
		response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {answer.kind}}, Body: io.NopCloser(answer.body)}
		wire.Trim(response)
		got, err := io.ReadAll(response.Body)
		require.EqualError(t, err, answer.want, name)
		require.Empty(t, got, name)
	}
}

// FuzzTrim requires that an answer of anything is read or refused, never becomes longer, and is trimmed at once.
func FuzzTrim(f *testing.F) {
	fill := random(1)
	for range 3 {
		p := &corev1.Pod{}
		fill.Fill(p)
		var b bytes.Buffer
		require.NoError(f, enveloped.Encode(typed(p), &b))
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		read := func(body []byte) ([]byte, error) {
			response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {one}}, Body: io.NopCloser(bytes.NewReader(body))}
			wire.Trim(response)
			return io.ReadAll(response.Body)
		}
		once, err := read(body)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(once), len(body))
		twice, err := read(once)
		require.NoError(t, err)
		require.Equal(t, once, twice)
	})
}

// BenchmarkDecode decodes a pod as a kubelet leaves it, whole and trimmed on the wire: Trim leaves answers with another status alone.
func BenchmarkDecode(b *testing.B) {
	p := typed(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-7d4b9c6f5d-x2x7k", Namespace: "shop", Labels: map[string]string{"app": "web"}}})
	for range 4 {
		p.ManagedFields = append(p.ManagedFields, metav1.ManagedFieldsEntry{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(strings.Repeat(`{"f:status":{}}`, 50))})
	}
	for range 2 {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{
			Name: "web", Image: "registry.example/web:1", Env: make([]corev1.EnvVar, 10), VolumeMounts: make([]corev1.VolumeMount, 3),
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}, LivenessProbe: &corev1.Probe{}, SecurityContext: &corev1.SecurityContext{},
		})
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: "web", Image: "registry.example/web:1"})
	}
	p.Spec.Volumes, p.Spec.Tolerations = make([]corev1.Volume, 3), make([]corev1.Toleration, 2)
	p.Status.Conditions = make([]corev1.PodCondition, 5)
	var whole bytes.Buffer
	require.NoError(b, enveloped.Encode(p, &whole))
	for name, status := range map[string]int{"whole": http.StatusAccepted, "trimmed": http.StatusOK} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				response := &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {one}}, Body: io.NopCloser(bytes.NewReader(whole.Bytes()))}
				wire.Trim(response)
				all, _ := io.ReadAll(response.Body)
				_, _, err := enveloped.Decode(all, nil, &corev1.Pod{})
				require.NoError(b, err)
			}
		})
	}
}

// same requires that the source keeps the same of two encoded objects.
func same(t *testing.T, r source.Resource, a, b []byte) {
	t.Helper()
	var kept []source.Object
	for _, encoded := range [][]byte{a, b} {
		o := r.New()
		_, _, err := enveloped.Decode(encoded, nil, o)
		require.NoError(t, err)
		r.Trim(o)
		kept = append(kept, o)
	}
	require.Equal(t, kept[0], kept[1])
}
