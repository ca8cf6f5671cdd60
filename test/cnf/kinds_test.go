package cnf

import (
	"bytes"
	"encoding/pem"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

var update = flag.Bool("update", false, "rewrite the golden files of devices")

// refused are upstream's samples that both servers and devices reject.
var refused = []string{"cnfnat"}

// manifests are upstream's samples and those of testdata/kinds, by name.
func manifests(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	out := map[string]*unstructured.Unstructured{}
	for _, pattern := range []string{"../../pkg/apis/sdewan/v1alpha1/testdata/samples/*.yaml", "testdata/kinds/*.yaml"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, f := range files {
			if name := strings.TrimSuffix(filepath.Base(f), ".yaml"); !slices.Contains(refused, name) {
				list := read(t, f)
				require.Len(t, list, 1, f)
				out[name] = list[0]
			}
		}
	}
	return out
}

func read(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	list, err := objects(string(text))
	require.NoError(t, err)
	return list
}

// TestEveryKindGoesRoundTrip applies each manifest to an API with a device: the device has what the file beside it says,
// the status says so, nothing is written again, by the same controller or by another; an edit of a field gets to the
// device, what is deleted or changed there comes back within an interval, and when it is deleted the device has
// what it had before.
func TestEveryKindGoesRoundTrip(t *testing.T) {
	seen := map[string]bool{}
	for name, o := range manifests(t) {
		seen[o.GetKind()] = true
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { roundTrip(t, name, o) })
		})
	}
	for _, r := range v1alpha1.Resources() {
		require.True(t, seen[r.Kind], "no %s", r.Kind)
	}
}

func roundTrip(t *testing.T, name string, o *unstructured.Unstructured) {
	t.Helper()
	purpose := o.GetLabels()[v1alpha1.LabelPurpose]
	c := NewCluster(t)
	defer c.Close()
	st := &stage{cluster: c}
	c.SetHost("cache.example.com", netip.MustParseAddr("203.0.113.8"), netip.MustParseAddr("203.0.113.7"))
	require.NoError(t, c.Network(workload{
		namespace: "default", name: "cnf", purpose: purpose, more: []simulator.Interface{ // of tunnels that are up
			{Name: "vti_10.10.10.15", Address: netip.MustParsePrefix("192.168.1.1/24")},
			{Name: "vti_10.10.10.35", Address: netip.MustParsePrefix("192.168.1.5/32")},
		},
	}, 1))
	require.NoError(t, c.Apply(read(t, "testdata/cluster.yaml")...))
	require.NoError(t, c.Apply(secret("default", "site-cert", map[string]string{"tls.crt": block("CERTIFICATE"), "tls.key": privateKey(t), "ca.crt": block("CERTIFICATE")})))
	for _, need := range read(t, "testdata/needs.yaml") {
		if need.GetName() != o.GetName() || need.GetKind() != o.GetKind() {
			need.SetLabels(map[string]string{v1alpha1.LabelPurpose: purpose})
			require.NoError(t, c.Apply(need))
		}
	}
	c.Start()
	time.Sleep(rest)
	device := c.devices.of("default/cnf-1").device
	before := device.Export() + device.Kernel()
	client := stranger(t, device)
	defer client.Close()
	had := kept(t, client)

	require.NoError(t, c.Apply(o))
	time.Sleep(Interval)
	compare(t, "testdata/kinds/"+name+".want", added(before, device.Export()+device.Kernel()))
	if o.GetKind() != "CNFStatus" {
		require.NoError(t, st.status([]string{o.GetKind(), o.GetNamespace() + "/" + o.GetName(), "insync"}), c.log.recent())
	}
	require.NoError(t, st.quiet([]string{"2m"}), "the second plan is not empty") // TestAnHourWithoutChanges takes longer
	c.Stop()
	c.Start()
	time.Sleep(rest)
	requireReads(t, device)
	change, known := edits()[o.GetKind()]
	require.True(t, known, "no edit of a %s", o.GetKind())
	if change != nil {
		s := newSubject(t, st, o, client, before, had)
		s.drift(s.update(change))
	}
	require.True(t, c.API.Delete(plural(o.GetKind()), o.GetNamespace(), o.GetName()))
	time.Sleep(rest)
	require.NoError(t, st.gone([]string{o.GetKind(), o.GetNamespace() + "/" + o.GetName()}))
	require.Equal(t, unswitched(before), unswitched(device.Export()+device.Kernel()))
}

// privateKey is a key that the device loads.
func privateKey(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/rsa.key")
	require.NoError(t, err)
	return string(text)
}

// block is PEM that looks like a certificate, and is long enough for the device.
func block(what string) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: what, Bytes: bytes.Repeat([]byte("netloom"), 60)}))
}

// unswitched is the configuration of a device without the switches of ipsec for the whole device. A peer sets them by its
// type, and nothing in the interface of the device sets them back.
func unswitched(text string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool {
		return strings.Contains(line, "rtinstall_enabled") || strings.Contains(line, "vip_enabled")
	}), "\n")
}

// added are the lines of sections that are in after and not in before.
func added(before, after string) string {
	had := map[string]int{}
	for _, s := range strings.Split(before, "\n\n") {
		had[s]++
	}
	var out []string
	for _, s := range strings.Split(after, "\n\n") {
		if had[s]--; had[s] < 0 {
			out = append(out, s)
		}
	}
	return strings.Join(out, "\n\n") + "\n"
}

// compare compares text with a file.
func compare(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), text)
}
