//go:build e2e

package kubelab

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// accountDir is where a container finds its service account.
const accountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// Pod is a container that runs as in a cluster, as far as a single process can: in a root directory that has only the
// program, /proc and the pod's volumes and is read-only, as the user of its security context, without capabilities, with the
// token of its service account. Its network is that of the test.
type Pod struct {
	*ovnlab.Process
	lab       *Lab
	container *corev1.Container
	address   string // of the probes
	debug     string // where debugging is served
	log       string
	command   *exec.Cmd // as it was started
}

// RunPod runs the only container of a pod. The program replaces the image; listen is the address for its probes, in place
// of the one in the manifests. Settings in env override those of the manifests.
func (l *Lab) RunPod(namespace, name string, spec *corev1.PodSpec, program, listen string, env ...string) *Pod {
	l.tb.Helper()
	if len(spec.Containers) != 1 || len(spec.InitContainers) != 0 {
		l.tb.Fatalf("pod %s: one container can be run, not %d", name, len(spec.Containers)+len(spec.InitContainers))
	}
	p := &Pod{lab: l, container: &spec.Containers[0], address: listen}
	root := l.path("root-" + name)
	command := p.container.Command
	if len(command) == 0 {
		command = []string{"/netloom"} // the entrypoint of the image
	}
	if err := p.fill(root, command[0], program, namespace, spec); err != nil {
		l.tb.Fatalf("pod %s: %v", name, err)
	}
	user, group := int64(0), int64(0)
	if s := spec.SecurityContext; s != nil && s.RunAsUser != nil && s.RunAsGroup != nil {
		user, group = *s.RunAsUser, *s.RunAsGroup
	}
	if user == 0 || group == 0 {
		l.tb.Fatalf("pod %s: the security context names no user and group other than root", name)
	}
	cmd := exec.CommandContext(context.WithoutCancel(l.tb.Context()), command[0], append(command[1:], p.container.Args...)...)
	cmd.Dir = "/"
	p.debug = ovnlab.FreeAddress(l.tb) // pods share a loopback address here
	cmd.Env = append(p.environment(namespace, name, spec.NodeName), append([]string{"NETLOOM_DEBUG_LISTEN=" + p.debug}, env...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot:     root,
		Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(group), Groups: groupsOf(spec)},
	}
	p.command, p.log = cmd, l.path(name+".log")
	p.Process = ovnlab.Launch(l.tb, p.log, cmd)
	return p
}

// Restart starts an ended container again, as a kubelet would: its file system is kept.
func (p *Pod) Restart() {
	p.lab.tb.Helper()
	again := exec.CommandContext(context.WithoutCancel(p.lab.tb.Context()), p.command.Path, p.command.Args[1:]...)
	again.Dir, again.Env, again.SysProcAttr = p.command.Dir, p.command.Env, p.command.SysProcAttr
	p.command = again
	p.Process = ovnlab.Launch(p.lab.tb, p.log, again)
}

// environment is the environment that a cluster provides to a container.
func (p *Pod) environment(namespace, name, node string) []string {
	env := []string{"KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=" + strconv.Itoa(p.lab.port)}
	for _, e := range p.container.Env {
		value := e.Value
		if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil {
			switch e.ValueFrom.FieldRef.FieldPath {
			case "metadata.name":
				value = name
			case "metadata.namespace":
				value = namespace
			case "spec.nodeName":
				value = node
			case "status.hostIP":
				value = "127.0.0.1"
			default:
				p.lab.tb.Fatalf("environment %s: field %s is not known here", e.Name, e.ValueFrom.FieldRef.FieldPath)
			}
		}
		if e.ValueFrom != nil && e.ValueFrom.ResourceFieldRef != nil {
			if of := e.ValueFrom.ResourceFieldRef.Resource; of != "limits.memory" {
				p.lab.tb.Fatalf("environment %s: resource %s is not known here", e.Name, of)
			}
			value = strconv.FormatInt(p.container.Resources.Limits.Memory().Value(), 10)
		}
		env = append(env, e.Name+"="+value)
	}
	return env
}

// fill creates the root directory of the container.
func (p *Pod) fill(root, command, program, namespace string, spec *corev1.PodSpec) error {
	procfs := filepath.Join(root, "proc")
	_ = syscall.Unmount(procfs, syscall.MNT_DETACH) // of an earlier pod of that name
	if err := os.RemoveAll(root); err != nil {
		return err
	}
	if err := os.MkdirAll(procfs, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("proc", procfs, "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	p.lab.tb.Cleanup(func() { _ = syscall.Unmount(procfs, syscall.MNT_DETACH) })
	if err := copyFile(filepath.Join(root, command), program); err != nil {
		return err
	}
	if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
		for name, content := range map[string][]byte{
			"token":     []byte(p.lab.Token(namespace, spec.ServiceAccountName)),
			"ca.crt":    p.lab.authorityCertificate(),
			"namespace": []byte(namespace),
		} {
			if err := place(filepath.Join(root, accountDir, name), content); err != nil {
				return err
			}
		}
	}
	for _, mount := range p.container.VolumeMounts {
		if err := p.mount(root, namespace, mount, spec.Volumes); err != nil {
			return fmt.Errorf("volume %s: %w", mount.Name, err)
		}
	}
	return nil
}

// mount copies the content of a volume.
func (p *Pod) mount(root, namespace string, mount corev1.VolumeMount, volumes []corev1.Volume) error {
	ctx := p.lab.tb.Context()
	for _, v := range volumes {
		if v.Name != mount.Name {
			continue
		}
		content := map[string][]byte{}
		switch {
		case v.ConfigMap != nil:
			got, err := p.lab.client.CoreV1().ConfigMaps(namespace).Get(ctx, v.ConfigMap.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			for name, text := range got.Data {
				content[name] = []byte(text)
			}
		case v.Secret != nil:
			got, err := p.lab.client.CoreV1().Secrets(namespace).Get(ctx, v.Secret.SecretName, metav1.GetOptions{})
			if apierrors.IsNotFound(err) && v.Secret.Optional != nil && *v.Secret.Optional {
				return nil
			}
			if err != nil {
				return err
			}
			content = got.Data
		case v.HostPath != nil:
			return p.bind(filepath.Join(root, mount.MountPath), mount, v.HostPath)
		default:
			return fmt.Errorf("its kind cannot be mounted here")
		}
		for name, raw := range content {
			if err := place(filepath.Join(root, mount.MountPath, name), raw); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("the pod has none of this name")
}

// place writes a file that all users may read and only its owner may write.
func place(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}

// copyFile copies a program. No other program is started meanwhile: it would inherit the file open for writing, and until it closes
// that, the copy cannot be run ("text file busy").
func copyFile(to, from string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}

// Alive reports whether the liveness probe of the container succeeds.
func (p *Pod) Alive() bool { return p.probe(p.container.LivenessProbe) == nil }

// Ready reports whether the readiness probe of the container succeeds.
func (p *Pod) Ready() bool { return p.probe(p.container.ReadinessProbe) == nil }

// AwaitReady waits until the readiness probe succeeds.
func (p *Pod) AwaitReady() {
	p.lab.tb.Helper()
	var err error
	await.True(p.lab.tb, func() bool {
		p.Running()
		err = p.probe(p.container.ReadinessProbe)
		return err == nil
	}, "the readiness probe succeeds")
}

// Running fails the test if the container has ended.
func (p *Pod) Running() {
	p.lab.tb.Helper()
	select {
	case <-p.Exited():
		p.lab.tb.Fatalf("the container ended with code %d:\n%s", p.ExitCode(), p.Tail(30))
	default:
	}
}

func (p *Pod) probe(probe *corev1.Probe) error {
	if probe == nil || probe.HTTPGet == nil {
		return fmt.Errorf("the container has no such probe")
	}
	_, err := p.get(probe.HTTPGet.Scheme, probe.HTTPGet.Path)
	return err
}

// Get requests a page from the container, and fails unless the status is 200. For debugging it connects like a forwarded
// port.
func (p *Pod) Get(path string) (string, error) {
	if strings.HasPrefix(path, "/debug/") {
		return answered(p.askAt(p.debug, corev1.URISchemeHTTP, path, ""))
	}
	return p.get(corev1.URISchemeHTTP, path)
}

func (p *Pod) get(scheme corev1.URIScheme, path string) (string, error) {
	return answered(p.Ask(scheme, path, ""))
}

// answered is a body, or an error unless the status is 200.
func answered(status int, body string, err error) (string, error) {
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%d: %s", status, strings.TrimSpace(body))
	}
	if err != nil {
		return "", err
	}
	return body, nil
}

// Ask requests a page from the container with a bearer token, "" for none. Like a kubelet, it does not verify the
// certificate.
func (p *Pod) Ask(scheme corev1.URIScheme, path, token string) (status int, body string, err error) {
	return p.askAt(p.address, scheme, path, token)
}

func (p *Pod) askAt(address string, scheme corev1.URIScheme, path, token string) (status int, body string, err error) {
	ctx, cancel := context.WithTimeout(p.lab.tb.Context(), 5*time.Second)
	defer cancel()
	url := strings.ToLower(string(cmp.Or(scheme, corev1.URISchemeHTTP))) + "://" + address + path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true,
	}}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	return response.StatusCode, string(raw), err
}

// Log is the whole output of the container.
func (p *Pod) Log() string { return p.Tail(1 << 20) }
