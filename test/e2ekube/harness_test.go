//go:build e2e

package e2ekube_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log" //nolint:depguard // the loader of charts logs there
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/deployment"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

const (
	root      = "../.."
	home      = "netloom-system" // namespace of the manifests
	account   = "system:serviceaccount:netloom-system:netloom"
	deployDir = root + "/deploy/kustomize"
)

var (
	kubeapiFlag = flag.String("kubeapi", "", "program that `make kubeapi` builds")
	netloomFlag = flag.String("netloom", "", "test this static binary instead of building one")
)

// buildOnce builds netloom as deploy/Dockerfile does, except for -trimpath, which would compile everything again.
var buildOnce = sync.OnceValues(func() (string, error) {
	if *netloomFlag != "" {
		return filepath.Abs(*netloomFlag)
	}
	bin := filepath.Join(os.TempDir(), fmt.Sprintf("netloom-e2ekube-%d", os.Getpid()))
	build := exec.CommandContext(context.Background(), "go", "build", "-tags", "kustomize_disable_go_plugin_support", "-ldflags", "-s -w", "-o", bin, "./cmd/netloom")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build netloom: %w\n%s", err, out)
	}
	return bin, nil
})

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "kubectl" {
		if err := kubectl(context.Background(), os.Args[1:]); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	log.SetOutput(io.Discard) // the loader of charts logs each link
	code := m.Run()
	if bin, err := buildOnce(); err == nil && *netloomFlag == "" {
		_ = os.Remove(bin)
	}
	os.Exit(code)
}

// startKube brings up a control plane.
func startKube(t *testing.T, features ...string) *kubelab.Lab {
	t.Helper()
	program, err := filepath.Abs(*kubeapiFlag)
	require.NoError(t, err)
	return kubelab.Start(t, kubelab.Options{Program: program, Features: features})
}

// central renders the overlay of that name as a user would: from an overlay of their own, with their own settings.
func central(t *testing.T, components ...string) (render func(settings string) []*unstructured.Unstructured) {
	t.Helper()
	return overlay(t, "central", components...)
}

// overlay renders an overlay as a user would, with the settings that it has if there are no others.
func overlay(t *testing.T, name string, components ...string) (render func(settings string) []*unstructured.Unstructured) {
	t.Helper()
	return func(settings string) []*unstructured.Unstructured {
		from, err := filepath.Abs(deployDir)
		require.NoError(t, err)
		dir, err := filepath.EvalSymlinks(t.TempDir())
		require.NoError(t, err)
		from, err = filepath.Rel(dir, from)
		require.NoError(t, err)
		own := deployment.Kustomization(from, "overlays/"+name, components...)
		if settings != "" {
			own += "configMapGenerator:\n- {name: netloom, namespace: netloom-system, behavior: replace, files: [netloom.yaml]}\n"
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(own), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "netloom.yaml"), []byte(settings), 0o600))
		objects, err := deployment.Kustomize(dir)
		require.NoError(t, err)
		return objects
	}
}

// gatewayOverlay renders the overlay of the gateway alone as a user would, with further components.
func gatewayOverlay(t *testing.T, components ...string) []*unstructured.Unstructured {
	t.Helper()
	return overlay(t, "gateway", components...)("")
}

// defaultLease has the durations of a default Lease: a leader keeps it without processor time for up to ten seconds, and the Lease of a
// killed leader expires within 15.
const defaultLease = "leader-elect-lease-duration: 15s\nleader-elect-renew-deadline: 10s\nleader-elect-retry-period: 500ms\n"

// settingsFor point netloom at the database of a lab, and at the ports as the lab names them.
func settingsFor(ovn *ovnlab.Lab) string {
	return fmt.Sprintf("ovn-nb: [%q]\novn-lb-switches: \"!%s\"\nretry-max: 1s\nlog-level: debug\n%s", ovn.NBTCP(), ovnlab.WorldSwitch, defaultLease)
}

// run runs the one container of a Deployment in the API server.
func run(t *testing.T, kube *kubelab.Lab, namespace, name string, env ...string) *kubelab.Pod {
	t.Helper()
	deployment, err := kube.Client().AppsV1().Deployments(namespace).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return runTemplate(t, kube, deployment, name, env...)
}

func runTemplate(t *testing.T, kube *kubelab.Lab, d *appsv1.Deployment, name string, env ...string) *kubelab.Pod {
	t.Helper()
	program, err := buildOnce()
	require.NoError(t, err)
	return runProgram(t, kube, d, program, name, env...)
}

// runProgram is runTemplate with a netloom that may be another one than that of the tree.
func runProgram(t *testing.T, kube *kubelab.Lab, d *appsv1.Deployment, program, name string, env ...string) *kubelab.Pod {
	t.Helper()
	listen := ovnlab.FreeAddress(t)
	// What it finds in its container's cgroup.
	memory := d.Spec.Template.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory]
	limit := fmt.Sprintf("GOMEMLIMIT=%d", memory.Value()/10*9)
	return kube.RunPod(d.Namespace, name, &d.Spec.Template.Spec, program, listen, append([]string{"NETLOOM_LISTEN=" + listen, limit}, env...)...)
}

// install applies the overlay and runs its pods.
func install(t *testing.T, kube *kubelab.Lab, ovn *ovnlab.Lab) *kubelab.Pod {
	t.Helper()
	objects := central(t)(settingsFor(ovn))
	kube.ApplyObjects(objects)
	awaitRoles(t, kube, objects)
	p := run(t, kube, home, "netloom")
	p.AwaitReady()
	return p
}

// awaitRoles waits until the server lets netloom do what the roles of manifests allow: it learns of a role a moment after it has
// accepted it.
func awaitRoles(t *testing.T, kube *kubelab.Lab, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, r := range rightsOf(t, objects) {
		await.True(t, func() bool { return may(t, kube, account, r) }, "the server knows %+v", r)
	}
}

// requireNothingForbidden checks that netloom never asked for what it has no right to.
func requireNothingForbidden(t *testing.T, kube *kubelab.Lab) {
	t.Helper()
	requests := kube.Audit(account)
	require.NotEmpty(t, requests, "the audit log knows netloom")
	for _, r := range requests {
		require.False(t, r.Forbidden, "forbidden: %+v", r)
	}
}
