package connections_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/answerstest"
	"github.com/netloom/netloom/pkg/answers/connections"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/test/policygen"
)

// written is a report in all its forms.
func written(t *testing.T, r *connections.Report) map[string]string {
	t.Helper()
	out := map[string]string{}
	for form, write := range map[string]func(io.Writer) error{"csv": r.WriteCSV, "dot": r.WriteDOT, "svg": r.WriteSVG} {
		var b bytes.Buffer
		require.NoError(t, write(&b))
		out[form] = b.String()
	}
	lines, named := r.Lines()
	out["lines"] = fmt.Sprint(lines, named)
	data, err := json.Marshal(r)
	require.NoError(t, err)
	out["json"] = string(data)
	return out
}

func TestTheOrderOfObjectsDoesNotMatter(t *testing.T) {
	c := policygen.Generate(7, policygen.Size{Pods: 30, Policies: 12, Cluster: 3})
	c.Answers = nil
	of := func(shuffle uint64) map[string]string {
		objects, rng := policygen.Objects(c), policygen.NewRand(shuffle)
		if shuffle > 0 {
			rng.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
		}
		r := connections.Of(world.New(answerstest.StateOf(t, objects)), connections.Filter{})
		return written(t, &r)
	}
	want := of(0)
	for i := range uint64(5) {
		require.Equal(t, want, of(i+1))
	}
}

// dotLine is a line of the graphs that WriteDOT writes.
var dotLine = regexp.MustCompile(`^ *(digraph connections \{|rankdir=LR|subgraph cluster_\d+ \{|\}|(node|edge|n\d+( -> n\d+)?) \[.*\]|label="(\\.|[^"\\])*")$`)

// dotString is a string in it.
var dotString = regexp.MustCompile(`"(\\["\\]|[^"\\])*"`)

// TestPicturesShowEveryConnection counts the arrows between workloads, in a picture of few and in one of many.
func TestPicturesShowEveryConnection(t *testing.T) {
	few := connections.Of(world.New(stateOfText(t, shopText)), connections.Filter{})
	forms := written(t, &few)
	require.Contains(t, forms["dot"], `n1 [label="db-0" tooltip="shop/db-0"]`)
	require.Contains(t, forms["dot"], `n2 -> n1 [label="TCP 5432"]`)
	require.Contains(t, forms["dot"], `n2 -> n3 [label="TCP 443"]`)
	require.Contains(t, forms["svg"], "<title>shop/web-0 -&gt; shop/db-0: TCP 5432</title>")
	require.Contains(t, forms["svg"], "<title>shop/web-0 -&gt; 192.0.2.0/24: TCP 443</title>")
	require.NotContains(t, forms["dot"], "n1 -> ")

	many := connections.Of(worldOf(t, 200), connections.Filter{})
	forms = written(t, &many)
	for i := range many.Groups {
		for _, e := range many.Groups[i].Ends {
			require.Contains(t, forms["dot"], fmt.Sprintf("tooltip=%q]", e.Name))
			require.Contains(t, forms["svg"], "<title>"+e.Name+"</title>")
		}
	}
	require.Equal(t, len(many.Connections), strings.Count(forms["dot"], "[label=")-strings.Count(forms["dot"], "tooltip="), "an arrow for each connection")
	require.Equal(t, len(many.Connections), strings.Count(forms["svg"], `class="arc `))
	for line := range strings.Lines(forms["dot"]) {
		require.Regexp(t, dotLine, strings.TrimSuffix(line, "\n"))
	}
}

// TestPodsOfOneWorkload has connections from a workload to itself only if it has several pods.
func TestPodsOfOneWorkload(t *testing.T) {
	const pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: shop, labels: {pod-template-hash: 6d4cf56db6}}\nstatus: {podIP: 10.0.0.%d}\n"
	one := fmt.Sprintf(pod, "web-6d4cf56db6-abcde", 1)
	two := one + fmt.Sprintf(pod, "web-6d4cf56db6-fghij", 2)
	const allow = "shop/deploy/web -> shop/deploy/web: all"
	for text, want := range map[string]bool{one: false, two: true} {
		report := connections.Of(world.New(stateOfText(t, text)), connections.Filter{})
		lines, _ := report.Lines()
		found := slices.ContainsFunc(lines, func(l connections.Line) bool { return l.From+" -> "+l.To+": "+l.Ports == allow })
		require.Equal(t, want, found, lines)
		require.Equal(t, want, strings.Contains(written(t, &report)["dot"], "n1 -> n1"))
	}
}

// TestWorkloadsOfPodsInACluster finds the workloads of pods as controllers name and label them.
func TestWorkloadsOfPodsInACluster(t *testing.T) {
	for _, tc := range []struct{ pod, labels, want string }{
		{"web-6d4cf56db6-abcde", "pod-template-hash: 6d4cf56db6", "shop/deploy/web"},
		{"web-6d4cf56db6-abcde", "pod-template-hash: other", "shop/web-6d4cf56db6-abcde"},
		{"web-6d4cf56db6-abcde", "app: web", "shop/web-6d4cf56db6-abcde"},
		{"web-7f89d5c9d-abcde", "rollouts-pod-template-hash: 7f89d5c9d", "shop/rollout/web"},
		{"db-0", "statefulset.kubernetes.io/pod-name: db-0", "shop/sts/db"},
		{"db-0", "statefulset.kubernetes.io/pod-name: db-1", "shop/db-0"},
		{"agent-x7k2p", "pod-template-generation: '1', controller-revision-hash: abc", "shop/ds/agent"},
		{"backup-29012340-x7k2p", "batch.kubernetes.io/job-name: backup-29012340", "shop/job/backup-29012340"},
		{"backup", "job-name: backup", "shop/backup"},
	} {
		text := fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: shop, labels: {%s}}\nstatus: {podIP: 10.0.0.1}\n", tc.pod, tc.labels)
		w := world.New(stateOfText(t, text))
		report := connections.Of(w, connections.Filter{})
		require.Equal(t, tc.want, report.Groups[0].Ends[0].Name)
		ends, err := w.Ends(tc.want, "")
		require.NoError(t, err, "names can be read")
		require.Equal(t, tc.pod, ends[0].Key.Name)
	}
}

// TestNamesAreOnlyText puts markup, quotes and formulas where names are.
func TestNamesAreOnlyText(t *testing.T) {
	for _, evil := range []string{
		`</text><script>alert(1)</script>`, `"><img src=x>`, `a" URL="javascript:alert(1)`, `a\`, `a\" b=c`, "a\nb\r\x00\x1b[2J", "\xff\xfe", `=HYPERLINK("http://x")`,
		`&lt;b&gt;`, `\N\G`, strings.Repeat("長", 300),
	} {
		end := connections.End{Name: evil, Namespace: evil, Pods: 1}
		r := connections.Report{
			Groups: []connections.Group{{ID: 1, Ends: []connections.End{end}}, {ID: 2, Outside: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}},
			Connections: []connections.Connection{
				{From: 1, To: 2, Ports: evil, Family: evil}, {From: 2, To: 1, Ports: evil},
			},
		}
		forms := written(t, &r)
		d := xml.NewDecoder(strings.NewReader(forms["svg"]))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, forms["svg"])
			if start, ok := token.(xml.StartElement); ok {
				require.Contains(t, []string{"svg", "title", "style", "marker", "rect", "text", "path", "g"}, start.Name.Local)
			}
		}
		lines := strings.Split(strings.TrimSuffix(forms["dot"], "\n"), "\n")
		for _, line := range lines {
			require.Regexp(t, dotLine, line)
			bare := dotString.ReplaceAllString(line, "S")
			require.NotContains(t, bare, `"`, line)
			require.NotContains(t, bare, "URL", line)
			require.NotContains(t, line, `\N`+`"`)
		}
		cells, err := csv.NewReader(strings.NewReader(forms["csv"])).ReadAll()
		require.NoError(t, err)
		for _, line := range cells {
			for _, cell := range line {
				require.NotRegexp(t, "^[=+\\-@\t\r]", cell)
			}
		}
	}
}
