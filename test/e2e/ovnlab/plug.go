//go:build e2e

package ovnlab

import (
	"context"
	"os/exec"
)

// RemovePort deletes the logical port of a host, as a network plugin does when its pod is gone.
func (l *Lab) RemovePort(name string) {
	l.tb.Helper()
	l.NBCtl("lsp-del", name)
}

// AddPort creates the logical port of a host again, with its addresses, in one transaction with more commands of ovn-nbctl.
func (l *Lab) AddPort(name string, more ...[]string) {
	l.tb.Helper()
	p := l.net.Port(name)
	l.NBCtl(splice(append([][]string{
		{"lsp-add", p.sw.name, name}, {"lsp-set-addresses", name, p.bindings()}, {"lsp-set-port-security", name, p.bindings()},
	}, more...))...)
}

// Unplug takes the interface of a host away from its logical port.
func (c *Chassis) Unplug(h *Host) {
	c.lab.tb.Helper()
	c.vsctl("remove", "Interface", h.link, "external_ids", "iface-id")
}

// Plug connects the interface of a host with its logical port, which need not exist yet.
func (c *Chassis) Plug(h *Host) {
	c.lab.tb.Helper()
	c.vsctl("set", "Interface", h.link, "external_ids:iface-id="+h.port.Name)
}

// Command is a program that runs on the hypervisor: it finds the Open vSwitch there as programs find that of their machine.
func (c *Chassis) Command(ctx context.Context, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = c.env
	return cmd
}
