//go:build e2e

package e2ekube_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// report is what TestScale found, in the order in which it found it.
type report struct {
	pods, policies  int
	idle, steadyCPU float64 // cores
	rate            int     // changes per second
	memories        []string
	times           []string
	starting        []string
	text            []string
}

// memory notes netloom's memory.
func (r *report) memory(t *testing.T, when string, netloom *kubelab.Pod) {
	t.Helper()
	r.memories = append(r.memories, fmt.Sprintf("| %s | %s | %s | %s | %s |", when, mib(statusOf(netloom.PID(), "VmRSS")), mib(peakOf(netloom.PID())),
		mib(gaugeOf(t, netloom, "go_memstats_heap_alloc_bytes")), mib(gaugeOf(t, netloom, "go_memstats_heap_inuse_bytes"))))
}

// data notes the size of the data that netloom has read, and the memory of other programs.
func (r *report) data(t *testing.T, kube *kubelab.Lab, db *ovsdbtest.Process) {
	t.Helper()
	client := kube.Client().Discovery().RESTClient()
	sizes := map[string]int64{}
	for name, path := range map[string]string{"pods": "/api/v1/pods", "policies": "/apis/networking.k8s.io/v1/networkpolicies"} {
		for _, form := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
			raw, err := client.Get().AbsPath(path).SetHeader("Accept", form).DoRaw(t.Context())
			require.NoError(t, err)
			sizes[name+form[len(form)-4:]] = int64(len(raw))
		}
	}
	r.text = append(r.text, fmt.Sprintf("Data: %d pods of %d bytes and %d policies of %d bytes as JSON; a list of both is %s as JSON and %s as protobuf.",
		r.pods, sizes["podsjson"]/int64(r.pods), r.policies, sizes["policiesjson"]/int64(r.policies),
		mib(sizes["podsjson"]+sizes["policiesjson"]), mib(sizes["podsobuf"]+sizes["policiesobuf"])),
		fmt.Sprintf("Beside netloom: kube-apiserver uses %s, ovsdb-server %s.", mib(statusOf(kube.APIServer().PID(), "VmRSS")), mib(db.RSS())))
}

// load notes how netloom kept up while everything was created.
func (r *report) load(began, created, synced time.Time, cpu float64, all []*change) {
	wrote := created.Sub(began)
	r.text = append(r.text, fmt.Sprintf("Load: %d policies and %d pods created in %s, %.0f pods a second; netloom was in sync %s after the last answer, and used %.1f s of processor time.",
		r.policies, r.pods, seconds(wrote), float64(r.pods)/wrote.Seconds(), seconds(synced.Sub(created)), cpu))
	r.changes("a pod, during the load", all)
}

// changes notes the times of one kind of change.
func (r *report) changes(kind string, all []*change) {
	var answered, watched, committed, between []time.Duration
	for _, c := range all {
		answered = append(answered, c.answered.Sub(c.sent))
		committed = append(committed, c.committed.Sub(c.sent))
		if !c.watched.IsZero() {
			watched = append(watched, c.watched.Sub(c.sent))
			between = append(between, c.committed.Sub(c.watched))
		}
	}
	watch, ratio := "– | –", "–"
	if len(watched) > 0 {
		watch = millis(quantile(watched, 0.5)) + " | " + millis(quantile(watched, 0.99))
		ratio = fmt.Sprintf("%.1f | %s | %s", quantile(committed, 0.5).Seconds()/quantile(watched, 0.5).Seconds(), millis(quantile(between, 0.5)), millis(quantile(between, 0.99)))
	} else {
		ratio += " | – | –"
	}
	r.times = append(r.times, fmt.Sprintf("| %s | %d | %s | %s | %s | %s | %s |", kind, len(all), millis(quantile(answered, 0.5)), watch,
		millis(quantile(committed, 0.5)), millis(quantile(committed, 0.99)), ratio))
}

// bursts notes what became of many changes at once.
func (r *report) bursts(n int, wrote, after time.Duration, all []*change) {
	r.changes(kindBurst, all)
	r.text = append(r.text, fmt.Sprintf("Burst: %d labels changed in %s, %.0f a second; the last row was committed %s after the last answer.",
		n, seconds(wrote), float64(n)/wrote.Seconds(), seconds(after)))
}

// starts notes what it took to be ready.
func (r *report) starts(how string, took time.Duration, cpu float64, peak int64) {
	r.starting = append(r.starting, fmt.Sprintf("| %s | %s | %.2f s | %s |", how, seconds(took), cpu, mib(peak)))
}

func (r *report) print(t *testing.T) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d pods, %d policies; %d cores, shared by netloom, the API server, etcd, ovsdb-server and this test; load average %s\n\n",
		r.pods, r.policies, runtime.NumCPU(), loadAverage())
	b.WriteString("From the request until … | n | answer p50 | watch event p50 | p99 | committed row p50 | p99 | row / event, p50 | from event to row p50 | p99 |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|\n")
	b.WriteString(strings.Join(r.times, "\n"))
	b.WriteString("\n\n| netloom's memory | RSS | RSS at its highest | Go heap, allocated | in use |\n|---|---|---|---|---|\n")
	b.WriteString(strings.Join(r.memories, "\n"))
	b.WriteString("\n\n| a start of netloom | until it is ready | processor time | RSS at its highest |\n|---|---|---|---|\n")
	b.WriteString(strings.Join(r.starting, "\n"))
	fmt.Fprintf(&b, "\n\n%s\nProcessor: %.2f cores at rest, %.2f cores with %d changes a second.\n", strings.Join(r.text, "\n"), r.idle, r.steadyCPU, r.rate)
	t.Log(b.String())
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func mib(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }

// gaugeOf reads a metric without labels.
func gaugeOf(t *testing.T, netloom *kubelab.Pod, name string) int64 {
	t.Helper()
	text, err := netloom.Get("/metrics")
	require.NoError(t, err)
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			require.NoError(t, err)
			return int64(v)
		}
	}
	require.Fail(t, "no such metric", name)
	return 0
}

// ticks is how many units of processor time /proc counts in a second.
const ticks = 100

// cpuOf is the processor time of a process so far, in seconds.
func cpuOf(t *testing.T, pid int) float64 {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(raw), ") ") // behind the name, which may contain anything
	require.True(t, ok)
	fields := strings.Fields(rest)
	require.Greater(t, len(fields), 12)
	user, err := strconv.Atoi(fields[11])
	require.NoError(t, err)
	system, err := strconv.Atoi(fields[12])
	require.NoError(t, err)
	return float64(user+system) / ticks
}

// peakOf is the peak memory of a process.
func peakOf(pid int) int64 { return statusOf(pid, "VmHWM") }

// statusOf reads a size from /proc, 0 where it cannot be learned.
func statusOf(pid int, field string) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			var kib int64
			if _, err := fmt.Sscan(rest, &kib); err != nil {
				return 0
			}
			return kib << 10
		}
	}
	return 0
}

func loadAverage() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(raw), " ")
	return one
}
