//go:build e2e

package e2ekube_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// filesDrill is a directory of manifests that shrinks under netloom.
type filesDrill struct {
	t       *testing.T
	dir     string
	listen  string // for probes
	debug   string
	netloom *ovnlab.Process
	witness *witness
	load    *load
}

// TestDrillDirectory takes the policies out of a directory, all at once and file by file. Below the share of files that may be
// missing their pods open; beyond it no pod that a policy isolates is open in any committed state, and a new policy is enforced
// meanwhile, until exactly what is missing is approved.
func TestDrillDirectory(t *testing.T) {
	t.Parallel()
	f := newFilesDrill(t)
	f.goneAtOnce()
	f.misspelt()
	f.goneSlowly()
}

// TestDrillBranch checks out another branch in a directory, and comes back. The policies that only the first has stay in force meanwhile.
func TestDrillBranch(t *testing.T) {
	t.Parallel()
	newFilesDrill(t).otherBranch()
}

func newFilesDrill(t *testing.T) *filesDrill {
	t.Helper()
	return newFilesDrillIn(t, t.TempDir())
}

// newFilesDrillIn has the manifests in a directory, and netloom with further flags.
func newFilesDrillIn(t *testing.T, dir string, flags ...string) *filesDrill {
	t.Helper()
	f := &filesDrill{t: t, dir: dir, load: &load{cluster: drillCluster()}, listen: ovnlab.FreeAddress(t), debug: ovnlab.FreeAddress(t)}
	address, w := startNB(t, f.load)
	f.witness = w
	for _, o := range f.load.cluster.Namespaces {
		o.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}
		f.put("namespace-"+o.Name, o)
	}
	for _, o := range f.load.cluster.Pods {
		o.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		f.put("pod-"+o.Namespace+"-"+o.Name, o)
	}
	f.putPolicies()
	program, err := buildOnce()
	require.NoError(t, err)
	f.netloom = ovnlab.Spawn(t, filepath.Join(t.TempDir(), "netloom.log"), os.Environ(), append([]string{program, "run", "--manifests", f.dir,
		"--ovn-nb", address, "--listen", f.listen, "--debug-listen", f.debug, "--drift-interval", "1h", "--services=false"}, flags...)...)
	w.protect(0, teams)
	w.await("every isolated pod is closed", f.running)
	return f
}

func (f *filesDrill) running() {
	f.t.Helper()
	select {
	case <-f.netloom.Exited():
		require.FailNow(f.t, "netloom ended", f.netloom.Tail(30))
	default:
	}
}

// put writes a file as an editor does that replaces it.
func (f *filesDrill) put(name string, o any) {
	f.t.Helper()
	raw, err := yaml.Marshal(o)
	require.NoError(f.t, err)
	path := filepath.Join(f.dir, name+".yaml")
	require.NoError(f.t, os.WriteFile(path+".new", raw, 0o600))
	require.NoError(f.t, os.Rename(path+".new", path))
}

func (f *filesDrill) remove(name string) {
	f.t.Helper()
	require.NoError(f.t, os.Remove(filepath.Join(f.dir, name+".yaml")))
}

func policyFile(p *networkingv1.NetworkPolicy) string { return "policy-" + p.Namespace + "-" + p.Name }

func (f *filesDrill) putPolicies() {
	f.t.Helper()
	for _, p := range f.load.cluster.Policies {
		f.put(policyFile(p), p)
	}
}

// goneAtOnce removes every policy of the cluster and writes a new one.
func (f *filesDrill) goneAtOnce() {
	f.t.Log("all policies go at once")
	require.NoError(f.t, f.netloom.Signal(syscall.SIGSTOP)) // so that it finds all of them gone
	for _, p := range f.load.cluster.Policies {
		f.remove(policyFile(p))
	}
	require.NoError(f.t, f.netloom.Signal(syscall.SIGCONT))
	f.denied(0)
	f.awaitKept(policyCount)
	f.denied(1)
	f.relabelled(teams - 1)
	f.awaitKept(policyCount)
	f.putPolicies()
	f.awaitKept(0)
	f.witness.check()
	reportDrill(f.t, f.netloom.PID(), "the directory of manifests loses all policies", "nothing", "–",
		"log, problems, `/readyz` degraded: the policies are kept, and how to let them go")
}

// misspelt edits the version of a policy into one that does not exist, and one of another group.
func (f *filesDrill) misspelt() {
	f.t.Log("the version of a policy is misspelt")
	p := f.load.cluster.Policies[0]
	for _, version := range []string{"networking.k8s.io/v1beta9", "netwroking.k8s.io/v1"} {
		wrong := p.DeepCopy()
		wrong.APIVersion = version
		f.put(policyFile(p), wrong)
		await.True(f.t, func() bool {
			f.running()
			f.witness.check()
			text, err := f.ask(http.MethodGet, "/debug/problems")
			return err == nil && strings.Contains(text, version)
		}, "the version is a problem")
	}
	f.put(policyFile(p), p)
	await.True(f.t, func() bool {
		text, err := f.ask(http.MethodGet, "/debug/problems")
		return err == nil && !strings.Contains(text, "k8s.io/v1")
	}, "the problem is gone")
	f.witness.check()
	reportDrill(f.t, f.netloom.PID(), "the `apiVersion` of a policy in a directory is misspelt", "nothing", "–", "a problem that names the file; what it declared stays in force")
}

// otherBranch checks out a branch that has none of the policies but another one, and then the first branch again.
func (f *filesDrill) otherBranch() {
	f.t.Log("another branch is checked out")
	k := teams / 2
	p := isolating(k, "free")
	f.git("init", "-q", "-b", "main")
	f.git("add", "-A")
	f.git("commit", "-q", "-m", "all policies")
	work := filepath.Join(f.t.TempDir(), "work")
	f.git("worktree", "add", "-q", "-b", "other", work)
	for _, gone := range f.load.cluster.Policies {
		require.NoError(f.t, os.Remove(filepath.Join(work, policyFile(gone)+".yaml")))
	}
	raw, err := yaml.Marshal(p)
	require.NoError(f.t, err)
	require.NoError(f.t, os.WriteFile(filepath.Join(work, policyFile(p)+".yaml"), raw, 0o600))
	f.git("-C", work, "add", "-A")
	f.git("-C", work, "commit", "-q", "-m", "another policy")
	f.git("-C", work, "checkout", "-q", "--detach")

	f.enforced(key(p), toPod(k, freePod), func() { f.git("checkout", "-q", "other") })
	f.awaitKept(policyCount)
	f.witness.release(toName(toPod(k, freePod)))
	f.git("checkout", "-q", "main")
	f.awaitKept(0)
	await.True(f.t, func() bool {
		f.running()
		f.witness.check()
		return f.witness.allows(toPod(k, freePod))
	}, "the policy of the other branch is gone")
	f.witness.check()
	reportDrill(f.t, f.netloom.PID(), "a branch without the policies is checked out in the directory of manifests", "nothing", "–",
		"log, problems, `/readyz` degraded: the policies are kept, and how to let them go")
}

func (f *filesDrill) git(arguments ...string) {
	f.t.Helper()
	command := exec.CommandContext(f.t.Context(), "git", append([]string{"-c", "user.name=drill", "-c", "user.email=drill@example.com"}, arguments...)...)
	command.Dir = f.dir
	out, err := command.CombinedOutput()
	require.NoError(f.t, err, "git %v: %s", arguments, out)
}

// goneSlowly removes policy after policy and waits for the effect each time: the first are removed, up to the share that
// may be missing, and the others are kept until that is approved.
func (f *filesDrill) goneSlowly() {
	f.t.Log("one policy goes after the other, slowly")
	let := 0
	for _, p := range f.load.cluster.Policies {
		of := f.podsOf(p)
		before := f.kept()
		if before.Digest == "" { // it may be released, or be the first that is kept
			f.witness.release(of...)
		}
		f.remove(policyFile(p))
		now := before
		await.True(f.t, func() bool {
			f.running()
			now = f.kept()
			return len(now.Objects) > len(before.Objects) || f.opened(p)
		}, "the missing policy is judged")
		if len(now.Objects) == len(before.Objects) {
			require.Empty(f.t, now.Objects, "nothing is released once something is kept")
			let++
			continue
		}
		require.False(f.t, f.opened(p))
		f.protectAgain(p)
	}
	require.Equal(f.t, (policyCount+2)/2, let, "half of all policies, with the two new ones")
	kept := f.kept()
	require.Len(f.t, kept.Objects, policyCount-let)
	f.denied(2)
	f.approve(kept, let)
}

// approve releases what is kept, by its digest and by no other.
func (f *filesDrill) approve(kept keptObjects, let int) {
	f.t.Helper()
	out, err := f.ask(http.MethodPost, "/debug/approve?digest=000000000000")
	require.ErrorContains(f.t, err, "409", out)
	require.Equal(f.t, kept, f.kept())
	f.witness.check()
	for _, p := range f.load.cluster.Policies[let:] {
		f.witness.release(f.podsOf(p)...)
	}
	f.witness.release(toName(toPod(teams-1, freePod))) // isolated by a policy that is kept
	_, err = f.ask(http.MethodPost, "/debug/approve?digest="+kept.Digest)
	require.NoError(f.t, err)
	await.True(f.t, func() bool {
		f.running()
		for _, p := range f.load.cluster.Policies[let:] {
			if !f.opened(p) {
				return false
			}
		}
		return len(f.kept().Objects) == 0
	}, "what was kept is removed")
	f.witness.check() // above all, the new policies are in force
}

// podsOf are the pods that a policy isolates, as the witness calls them.
func (f *filesDrill) podsOf(p *networkingv1.NetworkPolicy) []string {
	var all []string
	for _, pod := range f.load.cluster.Pods {
		if pod.Namespace == p.Namespace && pod.Labels["app"] == p.Name {
			all = append(all, pod.Namespace+"_"+pod.Name)
		}
	}
	return all
}

// packetsOf are those to the pods that a policy isolates.
func (f *filesDrill) packetsOf(p *networkingv1.NetworkPolicy) map[string]nbtrace.Packet {
	all := map[string]nbtrace.Packet{}
	for k := range teams {
		for i := range podsOfATeam {
			if teamName(k) == p.Namespace && appOf(i) == p.Name {
				all[teamPort(k, i)] = toPod(k, i)
			}
		}
	}
	return all
}

// opened reports whether a pod of a policy is open.
func (f *filesDrill) opened(p *networkingv1.NetworkPolicy) bool {
	for _, packet := range f.packetsOf(p) {
		if f.witness.allows(packet) {
			return true
		}
	}
	return false
}

func (f *filesDrill) protectAgain(p *networkingv1.NetworkPolicy) {
	for name, packet := range f.packetsOf(p) {
		f.witness.close(name, packet)
	}
}

// denied writes a policy for the free pod of a team and waits until it is enforced.
func (f *filesDrill) denied(k int) {
	f.t.Helper()
	p := isolating(k, "free")
	f.enforced(key(p), toPod(k, freePod), func() { f.put(policyFile(p), p) })
}

// relabelled gives the free pod of a team a label that a policy selects, and waits until it is isolated.
func (f *filesDrill) relabelled(k int) {
	f.t.Helper()
	var pod *corev1.Pod
	for _, o := range f.load.cluster.Pods {
		if o.Namespace == teamName(k) && o.Name == teamPod(freePod) {
			pod = o.DeepCopy()
		}
	}
	pod.Labels = map[string]string{"app": "api"}
	f.enforced(key(pod), toPod(k, freePod), func() { f.put("pod-"+pod.Namespace+"-"+pod.Name, pod) })
}

func (f *filesDrill) enforced(object string, packet nbtrace.Packet, change func()) {
	f.t.Helper()
	require.True(f.t, f.witness.allows(packet), "it is open before")
	name := toName(packet)
	f.witness.close(name, packet)
	began := time.Now()
	change()
	f.witness.await(object+" closes "+name, f.running)
	f.t.Logf("%-45s %v", object, f.witness.enforced(name).Sub(began))
}

// ask sends a request to netloom from its own machine.
func (f *filesDrill) ask(method, path string) (string, error) {
	f.t.Helper()
	request, err := http.NewRequestWithContext(f.t.Context(), method, "http://"+f.debug+path, http.NoBody)
	require.NoError(f.t, err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%d: %s", response.StatusCode, strings.TrimSpace(string(raw)))
	}
	return string(raw), err
}

func (f *filesDrill) kept() keptObjects {
	f.t.Helper()
	text, err := f.ask(http.MethodGet, "/debug/approve")
	require.NoError(f.t, err)
	var kept keptObjects
	require.NoError(f.t, json.Unmarshal([]byte(text), &kept))
	return kept
}

func (f *filesDrill) awaitKept(n int) {
	f.t.Helper()
	await.True(f.t, func() bool {
		f.running()
		f.witness.check()
		return len(f.kept().Objects) == n
	}, "%d policies are kept", n)
}
