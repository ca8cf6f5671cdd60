package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInputs asks about small directories that were once answered wrongly.
func TestInputs(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	const deviceIgnores = "openwrt/edge/cnf-0: ports: the device ignores them unless the protocol is one of tcp, udp"
	fourProblems := []string{
		"FirewallRule/edge/icmp-with-port: " + deviceIgnores,
		"Mwan3Rule/edge/ports-without-proto: " + deviceIgnores,
		`Mwan3Policy/edge/unknown-line: openwrt/edge/cnf-0: network "satellite": the CNF has fibre, mobile, office`,
		`Mwan3Rule/edge/policy-that-is-not-there: openwrt/edge/cnf-0: refers to "fiber-first", which no object declares`,
	}
	for _, tc := range []struct {
		name, dir string
		args      []string
		code      int
		says      []string
	}{
		{"what devices skip", "sdwan-problems", []string{"translate"}, exitCannotTell, fourProblems},
		{"what devices skip, in lint", "sdwan-problems", []string{"lint"}, exitCannotTell, fourProblems},
		{"what devices skip, in SARIF", "sdwan-problems", []string{"lint", "-o", "sarif"}, exitCannotTell, []string{"satellite", "fiber-first", "icmp-with-port"}},
		{"what devices skip, in JUnit", "sdwan-problems", []string{"translate", "-o", "junit"}, exitCannotTell, []string{"satellite", "fiber-first", "icmp-with-port"}},
		{"what devices skip, and nobody asks about", "sdwan-problems", []string{"probe", "edge/cnf-0->192.0.2.1:80"}, exitDone, nil},
		{"what Tungsten Fabric cannot serve", "node-to-local-vip", []string{"translate", "--backend", "tungsten"}, exitCannotTell, []string{
			"Service/app/x: Tungsten Fabric: ingress tcp/192.0.2.10:80: external addresses need floating IPs",
		}},
		{"a primary network of ovn-kubernetes", "primary-network", []string{"probe", "red/a->blue/b:80"}, exitDiffers, []string{`UserDefinedNetwork/red/red spec "pods on other networks"`}},
		{"a primary network elsewhere", "primary-network", []string{"probe", "blue/c->blue/b:80"}, exitDone, nil},
		{"a primary network of several namespaces", "cluster-primary-network", []string{"probe", "blue/b->red/a:80"}, exitDiffers, []string{`ClusterUserDefinedNetwork/red spec "pods on other networks"`}},
		{"a primary network of other namespaces", "cluster-primary-network", []string{"probe", "blue/c->blue/b:80"}, exitDone, nil},
		{"a private subnet of kube-ovn", "private-subnet", []string{"probe", "blue/a->red/b:80"}, exitDiffers, []string{"baseline tier: Deny by Subnet/red spec.private"}},
		{"a private subnet elsewhere", "private-subnet", []string{"probe", "blue/a->blue/c:80"}, exitDone, nil},
		{"a private subnet, which is to be ignored", "private-subnet", []string{"probe", "blue/a->red/b:80", "--ignore", "Subnet"}, exitDone, nil},
		{"workloads by their names", "workloads", []string{"probe", "store/web->store/db:5432"}, exitDone, []string{"store/deploy/web -> store/sts/db"}},
		{"the pod of a StatefulSet", "workloads", []string{"probe", "store/web->store/db-0:5432"}, exitDone, []string{"store/deploy/web -> store/sts/db"}},
		{"the pod of a StatefulSet, explained", "workloads", []string{"explain", "pod/store/db-0"}, exitDone, []string{"store/sts/db-0"}},
		{"a pod that the StatefulSet does not have", "workloads", []string{"probe", "store/web->store/db-9:5432"}, exitFailed, []string{"pod store/db-9: not found"}},
		{"an unknown backend", "node-to-local-vip", []string{"translate", "--backend", "x"}, exitFailed, []string{"expected one of ovn, tungsten"}},
		{"a pending pod elsewhere", "pending-pod", []string{"probe", "app/cli->app/srv:80", "--expect", "allow"}, exitDone, nil},
		{"a pending pod elsewhere, and a translation", "pending-pod", []string{"translate"}, exitDone, nil},
		{"a node and an address of policy Local", "node-to-local-vip", []string{"probe", "node/n1->192.0.2.10:80"}, exitDone, []string{"10.244.2.10:8080"}},
		{"an IPv4-mapped block", "mapped-block", []string{"probe", "10.244.1.21->a/p:80"}, exitDone, []string{"NetworkPolicy/a/x spec.ingress[0]"}},
		{"an address beside the block", "mapped-block", []string{"probe", "10.244.1.22->a/p:80"}, exitDiffers, nil},
		{"a block with leading zeros", "mapped-block", []string{"probe", "10.244.2.9->a/p:80"}, exitDone, []string{"NetworkPolicy/a/y spec.ingress[0]"}},
		{"a policy with the status of older releases", "exported", []string{"probe", "shop/a->shop/b:80"}, exitDone, []string{
			"NetworkPolicy/shop/a-to-b spec.ingress[0]", "fields that netloom does not know, and no connection depends on: NetworkPolicy status (1)",
		}},
		{"pods of the host network, and the port of a Service", "host-network-and-service-port", []string{"lint"}, exitDiffers, []string{
			"spec.ingress[0].from[0]: selects only pods on the networks of their nodes, such as app/ingress, which no selector matches: " +
				"name the addresses of the nodes in an ipBlock, such as 172.18.0.11/32 [host-network]",
			"spec.egress[1].ports[0].port: 80 is the port of Service app/web; its pods listen on 8080, which is what policies see [service-port]",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := netloom(t, append(tc.args, "-f", filepath.Join("testdata", "inputs", tc.dir))...)
			require.Equal(t, tc.code, got.code, "%s\n%s", got.out, got.errout)
			for _, text := range tc.says {
				require.Contains(t, got.out+got.errout, text)
			}
		})
	}
}
