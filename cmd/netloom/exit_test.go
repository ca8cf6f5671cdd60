package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	simulator "github.com/netloom/netloom/pkg/simulator/tungsten"
)

const (
	servedPods = `
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: shop, labels: {app: web}}
status: {podIP: 10.244.0.10}
---
apiVersion: v1
kind: Pod
metadata: {name: db-0, namespace: shop, labels: {app: db}}
status: {podIP: 10.244.0.20}
`
	denyDatabase = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: db, namespace: shop}
spec: {podSelector: {matchLabels: {app: db}}}
`
	met = `
apiVersion: netloom.io/v1alpha1
kind: Expectations
expectations:
- {from: shop/web-0, to: shop/db-0, ports: [tcp/5432], expect: allow}
`
)

// TestExitCodes runs every command that answers on input that it can answer, with the other answer, and on input from which nobody can tell.
func TestExitCodes(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	dir := t.TempDir()
	path := func(name, text string) string {
		write(t, dir, name, text)
		return filepath.Join(dir, name)
	}
	good, denied := path("good.yaml", servedPods), path("denied.yaml", servedPods+"---"+denyDatabase)
	policy, broken := path("policy.yaml", denyDatabase), path("broken.yaml", servedPods+"---\na: [b\n")
	pending := path("pending.yaml", servedPods+"---\napiVersion: v1\nkind: Pod\nmetadata: {name: new, namespace: shop}\nstatus: {phase: Pending}\n")
	odd := path("odd.yaml", servedPods+"---\napiVersion: v1\nkind: Pod\nmetadata: {name: odd, namespace: shop}\nstatus: {phase: Running}\n")
	const fault = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: x, namespace: %s}\n" +
		"spec: {podSelector: {}, ingress: [{ports: [{port: 99999}]}]}\n"
	faulty, elsewhere := path("faulty.yaml", fmt.Sprintf(fault, "shop")), path("elsewhere.yaml", servedPods+"---\n"+fmt.Sprintf(fault, "other"))
	cilium := path("cilium.yaml", servedPods+"---\napiVersion: cilium.io/v2\nkind: CiliumNetworkPolicy\nmetadata: {name: x, namespace: shop}\n")
	elsewhereCilium := path("elsewhere-cilium.yaml", servedPods+"---\napiVersion: cilium.io/v2\nkind: CiliumNetworkPolicy\nmetadata: {name: x, namespace: other}\n")
	firewall := path("firewall.yaml", servedPods+"---\napiVersion: k8s.ovn.org/v1\nkind: EgressFirewall\nmetadata: {name: default, namespace: shop}\n"+
		"spec: {egress: [{type: Allow, to: {cidrSelector: 203.0.113.0/24}}, {type: Deny, to: {cidrSelector: 0.0.0.0/0}}]}\n")
	named := path("named.yaml", servedPods+"---\napiVersion: k8s.ovn.org/v1\nkind: EgressFirewall\nmetadata: {name: default, namespace: shop}\n"+
		"spec: {egress: [{type: Allow, to: {dnsName: example.test}}]}\n")
	staged := path("staged.yaml", servedPods+"---"+strings.Replace(denyDatabase, "{name: db, namespace: shop}",
		"{name: db-2, namespace: shop, annotations: {netloom.io/enforcement: staged, netloom.io/stages: db}}", 1))
	comment, empty := path("comment.yaml", "# later\n"), t.TempDir()
	expected := path("expected.yaml", met)
	log := path("acl.log", deniedLine("shop/db ingress", "10.0.0.1", "10.0.0.2"))
	connection := "shop/web-0->shop/db-0:5432"
	server := database(t)
	target := []string{"--ovn-nb", server.Addr()}
	controller := simulator.New(simulator.Options{})
	t.Cleanup(controller.Close)
	url, err := controller.Start(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	tungsten, noTungsten := []string{"--tungsten", url}, []string{"--tungsten", "http://127.0.0.1:1"}
	daemon := running(t, filepath.Join(exampleDir, "shop"))

	rows := []struct {
		name string
		args []string
		want int
	}{
		{"translate what is valid", []string{"translate", good}, exitDone},
		{"translate an empty directory", []string{"translate", "-f", empty}, exitCannotTell},
		{"translate a comment", []string{"translate", comment}, exitCannotTell},
		{"translate a torn file", []string{"translate", broken}, exitCannotTell},
		{"translate a policy of another kind", []string{"translate", cilium}, exitCannotTell},
		{"translate without that kind", []string{"translate", cilium, "--ignore", "CiliumNetworkPolicy"}, exitDone},
		{"translate nothing", []string{"translate"}, exitFailed},
		{"translate what does not exist", []string{"translate", filepath.Join(dir, "no.yaml")}, exitFailed},

		{"probe what is allowed", []string{"probe", "-f", good, connection}, exitDone},
		{"probe what is denied", []string{"probe", "-f", denied, connection}, exitDiffers},
		{"probe beside a torn file", []string{"probe", "-f", broken, connection}, exitCannotTell},
		{"probe what is denied beside a torn file", []string{"probe", "-f", denied, "-f", broken, connection}, exitCannotTell},
		{"probe beside a pod without an address", []string{"probe", "-f", odd, connection}, exitDone},
		{"probe beside a pending pod", []string{"probe", "-f", pending, connection, "--expect", "allow"}, exitDone},
		{"probe a pending pod", []string{"probe", "-f", pending, "shop/new->shop/db-0:5432"}, exitDone},
		{"probe beside a faulty policy of another namespace", []string{"probe", "-f", elsewhere, connection}, exitDone},
		{"probe with a faulty policy of the namespace", []string{"probe", "-f", elsewhere, "-f", faulty, connection}, exitCannotTell},
		{"probe beside a policy of another kind", []string{"probe", "-f", cilium, connection}, exitCannotTell},
		{"probe beside a policy of another kind in another namespace", []string{"probe", "-f", elsewhereCilium, connection}, exitDone},
		{"probe a pod that does not exist", []string{"probe", "-f", good, "shop/web-0->shop/none:80"}, exitFailed},

		{"connections", []string{"connections", "-f", denied}, exitDone},
		{"connections of a torn file", []string{"connections", "-f", broken}, exitCannotTell},
		{"connections without pods", []string{"connections", "-f", policy}, exitCannotTell},
		{"connections beside a pod without an address", []string{"connections", "-f", odd}, exitCannotTell},
		{"connections beside a pending pod", []string{"connections", "-f", pending}, exitDone},
		{"connections beside a policy of another kind", []string{"connections", "-f", cilium}, exitCannotTell},
		{"connections beside a faulty policy of another namespace", []string{"connections", "-f", elsewhere}, exitCannotTell},
		{"connections between pods that it does not concern", []string{"connections", "-f", elsewhere, "--from", "shop/web-0", "--to", "shop/db-0"}, exitDone},
		{"connections of a pod that does not exist", []string{"connections", "-f", good, "--from", "shop/none"}, exitFailed},
		{"connections of a namespace", []string{"connections", "-f", good, "-n", "shop"}, exitDone},
		{"connections of a namespace that does not exist", []string{"connections", "-f", good, "-n", "nosuch"}, exitFailed},
		{"connections on a port without a number", []string{"connections", "-f", good, "--port", "tcp/http"}, exitFailed},
		{"connections from a Service", []string{"connections", "-f", filepath.Join(exampleDir, "shop"), "--from", "svc/shop/db"}, exitFailed},
		{"connections beside an EgressFirewall", []string{"connections", "-f", firewall}, exitDone},

		{"explain a pod", []string{"explain", "-f", good, "pod", "shop/web-0"}, exitDone},
		{"explain beside a torn file", []string{"explain", "-f", broken, "pod/shop/web-0"}, exitCannotTell},
		{"explain what does not exist", []string{"explain", "-f", good, "pod/shop/none"}, exitFailed},
		{"explain an unknown row", append([]string{"explain", "row", "00000000"}, target...), exitFailed},

		{"test what is met", []string{"test", "-f", good, expected}, exitDone},
		{"test what is not met", []string{"test", "-f", denied, expected}, exitDiffers},
		{"test beside a pod without an address", []string{"test", "-f", odd, expected}, exitDone},
		{"test beside a faulty policy of another namespace", []string{"test", "-f", elsewhere, expected}, exitDone},
		{"test with a faulty policy of the namespace", []string{"test", "-f", good, "-f", faulty, expected}, exitCannotTell},
		{"test beside a torn file", []string{"test", "-f", broken, expected}, exitCannotTell},
		{"test what cannot be evaluated", []string{"test", "-f", policy, expected}, exitCannotTell},

		{"impact of nothing", []string{"impact", "--from", good, "--to", good}, exitDone},
		{"impact of a policy", []string{"impact", "-f", good, "--with", policy}, exitDiffers},
		{"impact over no pods", []string{"impact", "-f", policy, "--without", "netpol/shop/db"}, exitCannotTell},
		{"impact of a torn file", []string{"impact", "-f", good, "--with", broken}, exitCannotTell},
		{"impact of a comment", []string{"impact", "-f", good, "--with", comment}, exitCannotTell},
		{"impact of an empty directory", []string{"impact", "-f", good, "--with", empty}, exitCannotTell},
		{"impact beside a pod without an address", []string{"impact", "-f", odd, "--with", odd}, exitCannotTell},
		{"impact beside a pending pod", []string{"impact", "-f", pending, "--with", pending}, exitDone},
		{"impact without a change", []string{"impact", "-f", good}, exitFailed},

		{"impact that does not count", []string{"impact", "-f", good, "--with", policy, "--fail-on", "opened"}, exitDone},

		{"impact of staged policies", []string{"impact", "-f", staged, "--staged"}, exitDiffers},
		{"impact on a node that is none", []string{"impact", "-f", staged, "--staged", "--conntrack", log}, exitFailed},
		{"impact on a dump without connections", []string{"impact", "-f", staged, "--staged", "--live", "--conntrack", comment}, exitCannotTell},
		{"impact on a dump that does not exist", []string{"impact", "-f", staged, "--staged", "--live", "--conntrack", "none"}, exitFailed},
		{"impact of no staged policy", []string{"impact", "-f", denied, "--staged"}, exitDone},
		{"impact of staged policies and a change", []string{"impact", "-f", staged, "--staged", "--with", policy}, exitFailed},
		{"stage a policy", []string{"stage", "-f", policy}, exitDone},
		{"stage what is staged", []string{"stage", "-f", staged}, exitFailed},
		{"stage no policy", []string{"stage", "-f", good}, exitFailed},
		{"stage a torn file", []string{"stage", "-f", broken}, exitFailed},
		{"stage nothing", []string{"stage"}, exitFailed},
		{"promote what is staged", []string{"promote", "-f", staged}, exitDone},
		{"promote what is not staged", []string{"promote", "-f", denied}, exitFailed},
		{"discard a copy", []string{"discard", "-f", staged}, exitDone},
		{"discard nothing", []string{"discard", "-f", denied}, exitFailed},

		{"lint without a finding that counts", []string{"lint", "-f", denied, "--fail-on", "never"}, exitDone},
		{"lint with a finding", []string{"lint", "-f", good}, exitDiffers},
		{"lint a torn file", []string{"lint", "-f", broken}, exitCannotTell},
		{"lint without pods", []string{"lint", "-f", policy}, exitCannotTell},
		{"lint an empty directory", []string{"lint", "-f", empty}, exitCannotTell},
		{"lint beside a policy of another kind", []string{"lint", "-f", cilium, "--fail-on", "never"}, exitCannotTell},
		{"lint what does not exist", []string{"lint", "-f", filepath.Join(dir, "no.yaml")}, exitFailed},

		{"audit", []string{"audit", "-f", denied}, exitDone},
		{"audit a torn file", []string{"audit", "-f", broken}, exitCannotTell},
		{"audit without pods", []string{"audit", "-f", policy}, exitCannotTell},
		{"audit beside a pod without an address", []string{"audit", "-f", odd}, exitCannotTell},
		{"audit beside a pending pod", []string{"audit", "-f", pending}, exitDone},
		{"audit since nothing", []string{"audit", "-f", good, "--since", filepath.Join(dir, "no.json")}, exitFailed},

		{"plan between equal states", []string{"plan", "--from", good, "--to", good}, exitDone},
		{"plan between states", []string{"plan", "-f", good, "--with", policy}, exitDiffers},
		{"plan of a torn file", []string{"plan", "-f", good, "--with", broken}, exitCannotTell},
		{"plan for a database", append([]string{"plan", "-f", denied}, target...), exitDiffers},
		{"plan for a database from a torn file", append([]string{"plan", "-f", broken}, target...), exitCannotTell},
		{"plan for a database in sync", append([]string{"plan", "-f", good}, target...), exitDone},

		{"drift of nothing", append([]string{"drift", "-f", good}, target...), exitDone},
		{"drift of a policy", append([]string{"drift", "-f", denied}, target...), exitDiffers},
		{"drift from a torn file", append([]string{"drift", "-f", broken}, target...), exitCannotTell},
		{"apply, planned", append([]string{"apply", "-f", denied, "--dry-run"}, target...), exitDiffers},
		{"apply a torn file", append([]string{"apply", "-f", broken}, target...), exitCannotTell},
		{"apply", append([]string{"apply", "-f", good}, target...), exitDone},

		{"probe what an EgressFirewall does not concern", []string{"probe", "-f", firewall, connection}, exitDone},
		{"probe what an EgressFirewall allows", []string{"probe", "-f", firewall, "shop/web-0->203.0.113.7:443"}, exitDone},
		{"probe what an EgressFirewall denies", []string{"probe", "-f", firewall, "shop/web-0->198.51.100.7:443"}, exitDiffers},
		{"probe beside an EgressFirewall for a name", []string{"probe", "-f", named, connection}, exitCannotTell},
		{"impact of an EgressFirewall", []string{"impact", "-f", good, "--with", firewall}, exitDiffers},
		{"lint beside an EgressFirewall", []string{"lint", "-f", firewall, "--fail-on", "never"}, exitCannotTell},
		{"plan of an EgressFirewall", []string{"plan", "-f", good, "--with", firewall}, exitCannotTell},
		{"verify an EgressFirewall that nobody enforces", append([]string{"verify", "-f", firewall}, target...), exitDiffers},
		{"verify a database in sync", append([]string{"verify", "-f", good}, target...), exitDone},
		{"verify a database without a policy", append([]string{"verify", "-f", denied}, target...), exitDiffers},
		{"verify from a torn file", append([]string{"verify", "-f", broken}, target...), exitCannotTell},
		{"verify without pods", append([]string{"verify", "-f", policy}, target...), exitCannotTell},
		{"verify without a database", []string{"verify", "-f", good, "--ovn-nb", "unix:" + filepath.Join(dir, "none")}, exitFailed},
		{"verify a dump that does not exist", []string{"verify", "-f", good, "--nb-dump", filepath.Join(dir, "none")}, exitFailed},

		{"approve without a daemon", []string{"approve", "--server", "127.0.0.1:1"}, exitFailed},
		{"observe a log", []string{"observe", "-f", good, log}, exitDone},
		{"observe staged policies", []string{"observe", "-f", staged, "--staged", log}, exitDone},
		{"observe no staged policy", []string{"observe", "-f", good, "--staged", log}, exitCannotTell},
		{"suggest for staged policies without a log", []string{"suggest", "-f", staged, "--from-staged"}, exitFailed},
		{"suggest for no staged policy", []string{"suggest", "-f", good, "--from-staged", "--log", log}, exitCannotTell},
		{"observe a log without such lines", []string{"observe", "-f", good, comment}, exitCannotTell},
		{"observe beside a torn file", []string{"observe", "-f", broken, log}, exitCannotTell},
		{"observe a log that does not exist", []string{"observe", "-f", good, filepath.Join(dir, "no.log")}, exitFailed},
		{"observe no log", []string{"observe", "-f", good}, exitFailed},

		{"suggest for what is denied", []string{"suggest", "-f", denied, connection}, exitDone},
		{"suggest for what is allowed", []string{"suggest", "-f", good, connection}, exitDone},
		{"suggest for what no policy can allow", []string{"suggest", "-f", denied, "shop/web-0->shop/db-0:icmp"}, exitDiffers},
		{"suggest beside a torn file", []string{"suggest", "-f", broken, connection}, exitCannotTell},
		{"suggest for nothing", []string{"suggest", "-f", good}, exitFailed},

		{"apply to a controller, planned", append([]string{"apply", "-f", good, "--dry-run"}, tungsten...), exitDiffers},
		{"plan for a controller", append([]string{"plan", "-f", good}, tungsten...), exitDiffers},
		{"drift of a controller", append([]string{"drift", "-f", good}, tungsten...), exitDiffers},
		{"apply to a controller from a torn file", append([]string{"apply", "-f", broken, "--dry-run"}, tungsten...), exitCannotTell},
		{"plan for a controller from a torn file", append([]string{"plan", "-f", broken}, tungsten...), exitCannotTell},
		{"drift of a controller from a torn file", append([]string{"drift", "-f", broken}, tungsten...), exitCannotTell},
		{"drift of a controller, repaired", append([]string{"drift", "-f", good, "--repair"}, tungsten...), exitDone},
		{"apply to a controller", append([]string{"apply", "-f", good}, tungsten...), exitDone},
		{"plan for a controller in sync", append([]string{"plan", "-f", good}, tungsten...), exitDone},
		{"drift of a controller in sync", append([]string{"drift", "-f", good}, tungsten...), exitDone},
		{"plan for a controller without the pods", append([]string{"plan", "-f", denied}, tungsten...), exitUnprotected},
		{"drift of a controller without the pods", append([]string{"drift", "-f", denied}, tungsten...), exitUnprotected},
		{"apply to a controller without the pods", append([]string{"apply", "-f", denied}, tungsten...), exitUnprotected},
		{"explain an unknown row of a controller", append([]string{"explain", "row", "00000000"}, tungsten...), exitFailed},
		{"apply to no controller", append([]string{"apply", "-f", good}, noTungsten...), exitFailed},
		{"plan for no controller", append([]string{"plan", "-f", good}, noTungsten...), exitFailed},
		{"drift of no controller", append([]string{"drift", "-f", good}, noTungsten...), exitFailed},

		{"plans of a daemon in sync", []string{"plan", "--server", daemon}, exitDone},
		{"plans of no daemon", []string{"plan", "--server", "127.0.0.1:1"}, exitFailed},
		{"approve nothing", []string{"approve", "--server", daemon}, exitDone},
		{"approve what is not missing", []string{"approve", "--server", daemon, "0123456789ab"}, exitFailed},

		{"remove, planned", append([]string{"remove"}, tungsten...), exitDiffers},
		{"remove", append([]string{"remove", "--yes"}, tungsten...), exitDone},
		{"remove what is not there", append([]string{"remove"}, target...), exitDone},
		{"remove from no controller", append([]string{"remove"}, noTungsten...), exitFailed},

		{"run with valid settings", append([]string{"run", "-f", dir, "--check-config"}, target...), exitDone},
		{"run without a target", []string{"run", "-f", dir}, exitFailed},
		{"run with a file", append([]string{"run", "-f", good}, target...), exitFailed},
		{"run with standard input", append([]string{"run", "-f", "-"}, target...), exitFailed},
		{"run with two directories", append([]string{"run", "-f", dir, "-f", dir}, target...), exitFailed},
		{"run with a directory that does not exist", append([]string{"run", "-f", filepath.Join(dir, "no"), "--listen=", "--debug-listen="}, target...), exitFailed},
		{"gateway that checks an empty directory", []string{"gateway", "--check", "--clusters", empty}, exitCannotTell},
		{"gateway that checks no directory", []string{"gateway", "--check", "--clusters", filepath.Join(dir, "no")}, exitFailed},
		{"webhook without a certificate", []string{"webhook"}, exitFailed},
		{"demo", []string{"demo", "--once", "-f", exampleDir}, exitDone},
		{"demo with a controller", []string{"demo", "--once", "--tungsten", "-f", exampleDir}, exitDone},
		{"demo of an empty directory", []string{"demo", "--once", "-f", empty}, exitFailed},
		{"demo of a directory that does not exist", []string{"demo", "-f", filepath.Join(dir, "no")}, exitFailed},
		{"device-sim at no address", []string{"device-sim", "--listen", "nowhere"}, exitFailed},
		{"tungsten-sim at no address", []string{"tungsten-sim", "--listen", "nowhere"}, exitFailed},

		{"help", []string{"help", "plan"}, exitDone},
		{"help with all settings", []string{"plan", "--help-all"}, exitDone},
		{"completion", []string{"completion", "bash"}, exitDone},
		{"version", []string{"version"}, exitDone},
		{"an unknown command", []string{"frobnicate"}, exitFailed},
		{"an unknown flag", []string{"probe", "--frobnicate"}, exitFailed},
	}
	missing := map[string]bool{}
	for _, c := range newRoot().Commands() {
		missing[c.Name()] = true
	}
	for _, tc := range rows {
		delete(missing, tc.args[0])
	}
	require.Empty(t, missing, "every command has a row")
	for _, tc := range rows {
		t.Run(tc.name, func(t *testing.T) {
			got := netloom(t, tc.args...)
			require.Equal(t, tc.want, got.code, "%s\n%s", got.out, got.errout)
			if tc.want == exitFailed || tc.want == exitCannotTell {
				require.Contains(t, got.errout, "netloom: ", "the reason is printed")
			}
		})
	}
}
