//go:build e2e

package e2ekube_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/probe"
	ui "github.com/netloom/netloom/pkg/serve/web"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// networkKinds define networks of ovn-kubernetes and kube-ovn, as far as a test needs their fields.
const networkKinds = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: userdefinednetworks.k8s.ovn.org}
spec:
  group: k8s.ovn.org
  scope: Namespaced
  names: {plural: userdefinednetworks, singular: userdefinednetwork, kind: UserDefinedNetwork, listKind: UserDefinedNetworkList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: subnets.kubeovn.io}
spec:
  group: kubeovn.io
  scope: Cluster
  names: {plural: subnets, singular: subnet, kind: Subnet, listKind: SubnetList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// userNetwork and subnetWithACLs are networks of namespace monitoring: probe cannot tell what either does to its pods, since the namespace
// has no label of ovn-kubernetes, and since ACLs are not evaluated.
const (
	userNetwork = `
apiVersion: k8s.ovn.org/v1
kind: UserDefinedNetwork
metadata: {name: apart, namespace: monitoring}
spec: {topology: Layer2, layer2: {role: Primary, subnets: [10.100.0.0/16]}}
`
	subnetWithACLs = `
apiVersion: kubeovn.io/v1
kind: Subnet
metadata: {name: closed}
spec:
  cidrBlock: 10.244.0.3/32
  namespaces: [monitoring]
  acls: [{action: drop, direction: to-lport, match: ip4, priority: 1002}]
`
	secondaryNetwork = `
apiVersion: k8s.ovn.org/v1
kind: UserDefinedNetwork
metadata: {name: storage, namespace: shop}
spec: {topology: Layer2, layer2: {role: Secondary, subnets: [10.102.0.0/16]}}
`
)

// TestNetworksThatDecideElsewhere asks a daemon, from the command line and over its page, about pods of a namespace with a network of another
// project, and about others.
func TestNetworksThatDecideElsewhere(t *testing.T) {
	t.Parallel()
	kube := startKube(t)
	_, address := startEmptyNB(t)
	objects := central(t)(fmt.Sprintf("ovn-nb: [%q]\nconfirm-interval: 1s\n", address))
	kube.ApplyObjects(objects)
	awaitRoles(t, kube, objects)
	kube.Apply(foreignWorld)
	kube.Status(foreignAddresses)
	kube.Apply(networkKinds)
	kube.Apply(secondaryNetwork)
	debug, listen := ovnlab.FreeAddress(t), ovnlab.FreeAddress(t)
	run(t, kube, home, "netloom", "NETLOOM_DEBUG_LISTEN="+debug, "NETLOOM_UI_LISTEN="+listen).AwaitReady()
	program, err := buildOnce()
	require.NoError(t, err)

	const from, concerned, to = "shop/web", "monitoring/grafana", "shop/db"
	command := func(from string) int {
		asked := exec.CommandContext(t.Context(), program, "probe", "--server", debug, from+"->"+to+":80")
		out, err := asked.CombinedOutput()
		if exit := new(exec.ExitError); !errors.As(err, &exit) {
			require.NoError(t, err, string(out))
		}
		return asked.ProcessState.ExitCode()
	}
	page := func(path string, answer any) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listen+"/api/v1/"+path, http.NoBody)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer func() { _ = response.Body.Close() }()
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.NoError(t, json.NewDecoder(response.Body).Decode(answer))
	}
	why := func(from string) map[probe.Verdict]int {
		var answer ui.Why
		page("why?"+url.Values{"from": {from}, "to": {to}, "port": {"80"}}.Encode(), &answer)
		return answer.Counts
	}
	cells := func(row string) (of []ui.CellVerdict) {
		var m ui.Matrix
		page("matrix", &m)
		for r := range m.Rows {
			for c := range m.Columns {
				if m.Rows[r].ID == row && m.Columns[c].ID == "shop" {
					of = append(of, m.States[m.Cells[r][c]].Verdict)
				}
			}
		}
		return of
	}
	certain := func(from string) {
		t.Helper()
		require.Zero(t, command(from))
		require.Equal(t, map[probe.Verdict]int{probe.Allow: 1}, why(from))
	}

	await.True(t, func() bool { return len(cells("monitoring")) == 1 }, "the pods are known")
	certain(from)
	certain(concerned)
	for network, harmless := range map[string]string{
		userNetwork:    strings.ReplaceAll(userNetwork, "Primary", "Secondary"),
		subnetWithACLs: regexp.MustCompile(`(?m)^  acls: .*$`).ReplaceAllString(subnetWithACLs, ""),
	} {
		kube.Apply(network)
		await.True(t, func() bool { return command(concerned) == 3 }, "probe cannot tell")
		await.True(t, func() bool { return why(concerned)[probe.VerdictUnknown] == 1 }, "neither can the page")
		require.Equal(t, []ui.CellVerdict{ui.CellUnknown}, cells("monitoring"))
		certain(from)
		require.Equal(t, []ui.CellVerdict{ui.CellAllowed}, cells("shop"))
		kube.Apply(harmless)
		await.True(t, func() bool { return command(concerned) == 0 && why(concerned)[probe.Allow] == 1 }, "it is certain again")
	}
}
