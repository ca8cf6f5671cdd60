//go:build e2e

package kubelab

import (
	"fmt"
	"os"
	"syscall"

	corev1 "k8s.io/api/core/v1"
)

// groupsOf are the supplementary groups of a pod's processes.
func groupsOf(spec *corev1.PodSpec) []uint32 {
	if spec.SecurityContext == nil {
		return nil
	}
	var groups []uint32
	for _, g := range spec.SecurityContext.SupplementalGroups {
		groups = append(groups, uint32(g))
	}
	return groups
}

// bind mounts a directory of the host into the container until the test ends. It is read-only: the cleanup of a container
// must never touch files of the host.
func (p *Pod) bind(at string, mount corev1.VolumeMount, from *corev1.HostPathVolumeSource) error {
	if !mount.ReadOnly {
		return fmt.Errorf("a directory of the host can only be mounted to be read")
	}
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount(from.Path, at, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s: %w", from.Path, err)
	}
	p.lab.tb.Cleanup(func() { _ = syscall.Unmount(at, syscall.MNT_DETACH) })
	if err := syscall.Mount("", at, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("mount %s to be read only: %w", from.Path, err)
	}
	return nil
}
