package deployment

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// kubetypes is the module of the program that decodes objects.
const kubetypes = "../../kubetypes"

// The oldest Kubernetes 1.x that deploy/ supports, and the newest.
const (
	oldestMinor = 28
	newestMinor = 36
)

// requireKnownFields decodes all that deploy/ can be rendered to, and the CRDs, into the types of each version of Kubernetes that deploy/
// supports.
func requireKnownFields(t *testing.T, renderings []rendering) {
	t.Helper()
	var objects []json.RawMessage
	var of []string
	for _, r := range renderings {
		for _, o := range r.objects {
			if o.GetAPIVersion() == "monitoring.coreos.com/v1" {
				continue // not of Kubernetes
			}
			raw, err := json.Marshal(o)
			require.NoError(t, err)
			objects, of = append(objects, raw), append(of, r.name+": "+o.GetKind()+" "+o.GetName())
		}
	}
	require.Greater(t, len(objects), 1000)
	files, err := filepath.Glob("../../../deploy/crds/*.yaml")
	require.NoError(t, err)
	require.Greater(t, len(files), 15)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		raw, err := yaml.YAMLToJSON(text)
		require.NoError(t, err)
		objects, of = append(objects, raw), append(of, file)
	}
	// What none may accept, so that a version that accepts everything is noticed.
	objects = append(objects, json.RawMessage(`{"apiVersion": "v1", "kind": "Service", "spec": {"port": 1}}`),
		json.RawMessage(`{"apiVersion": "apps/v1", "kind": "Deploiment"}`))
	for minor, faults := range faultsByVersion(t, objects) {
		require.Len(t, faults, len(objects))
		for i := range of {
			require.Empty(t, faults[i], "Kubernetes 1.%d: %s", minor, of[i])
		}
		require.Contains(t, faults[len(of)], `unknown field "spec.port"`, "Kubernetes 1.%d", minor)
		require.Contains(t, faults[len(of)+1], "no kind", "Kubernetes 1.%d", minor)
	}
}

// faultsByVersion returns what is wrong with each object, "" for nothing, by the minor version of Kubernetes.
func faultsByVersion(t *testing.T, objects []json.RawMessage) map[int][]string {
	t.Helper()
	all := map[int][]string{}
	newest := runtime.NewScheme()
	require.NoError(t, scheme.AddToScheme(newest))
	require.NoError(t, apiextensionsv1.AddToScheme(newest))
	decoder := serializer.NewCodecFactory(newest, serializer.EnableStrict).UniversalDeserializer()
	for _, o := range objects {
		fault := ""
		if _, _, err := decoder.Decode(o, nil, nil); err != nil {
			fault = err.Error()
		}
		all[minorOf(t, "../go.mod")] = append(all[minorOf(t, "../go.mod")], fault)
	}
	modules, err := filepath.Glob(kubetypes + "/versions/*.mod")
	require.NoError(t, err)
	for _, module := range append(modules, kubetypes+"/go.mod") {
		file, err := filepath.Rel(kubetypes, module)
		require.NoError(t, err)
		minor := minorOf(t, module)
		if name := filepath.Base(file); name != "go.mod" {
			require.Equal(t, fmt.Sprintf("1.%d.mod", minor), name)
		}
		var faults []string
		ask(t, build(t, "kubetypes", kubetypes, "-modfile", file), objects, &faults)
		all[minor] = faults
	}
	for minor := oldestMinor; minor <= newestMinor; minor++ {
		require.Contains(t, all, minor)
	}
	require.Len(t, all, newestMinor-oldestMinor+1)
	return all
}

// minorOf is the minor version of Kubernetes whose types a module requires, all of them of the same.
func minorOf(t *testing.T, module string) int {
	t.Helper()
	text, err := os.ReadFile(module)
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^\tk8s\.io/(?:api|apimachinery) v0\.(\d+)\.\d+$`).FindAllStringSubmatch(string(text), -1)
	require.Len(t, found, 2, module)
	require.Equal(t, found[0][1], found[1][1], module)
	minor, err := strconv.Atoi(strings.TrimSpace(found[0][1]))
	require.NoError(t, err)
	return minor
}
