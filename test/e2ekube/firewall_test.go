//go:build e2e

package e2ekube_test

import (
	"bytes"
	"errors"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	firewall "github.com/netloom/netloom/pkg/apis/ovnkubernetes/v1"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// firewallDefinition defines EgressFirewall with the fields that ovn-kubernetes gives it.
const firewallDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: egressfirewalls.k8s.ovn.org}
spec:
  group: k8s.ovn.org
  scope: Namespaced
  names: {kind: EgressFirewall, listKind: EgressFirewallList, plural: egressfirewalls, singular: egressfirewall}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object, properties: {name: {type: string, pattern: ^default$}}}
          spec:
            type: object
            required: [egress]
            properties:
              egress:
                type: array
                items:
                  type: object
                  required: [type, to]
                  properties:
                    type: {type: string, pattern: ^Allow|Deny$}
                    ports:
                      type: array
                      items: {type: object, required: [port, protocol], properties: {port: {type: integer}, protocol: {type: string}}}
                    to:
                      type: object
                      minProperties: 1
                      maxProperties: 1
                      properties: {cidrSelector: {type: string}, dnsName: {type: string}, nodeSelector: {type: object, x-kubernetes-preserve-unknown-fields: true}}
          status: {type: object, properties: {status: {type: string}, messages: {type: array, items: {type: string}}}}
`

// walledPod may only connect to HTTPS of one network outside.
const walledPod = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: shop, labels: {app: web}}
spec: {nodeName: a, containers: [{name: web, image: web}]}
---
apiVersion: k8s.ovn.org/v1
kind: EgressFirewall
metadata: {name: default, namespace: shop}
spec:
  egress:
  - {type: Allow, to: {cidrSelector: 203.0.113.0/24}, ports: [{protocol: TCP, port: 443}]}
  - {type: Deny, to: {cidrSelector: 0.0.0.0/0}}
`

const walledPodStatus = `
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: shop}
status: {phase: Running, podIP: 10.244.9.1, podIPs: [{ip: 10.244.9.1}]}
`

// TestFirewallsOfACluster reads an EgressFirewall from an API server to answer questions, and compares it with a database in which
// nobody enforces it.
func TestFirewallsOfACluster(t *testing.T) {
	t.Parallel()
	kube, ovn := startKube(t), ovnlab.Start(t)
	kube.Apply(firewallDefinition)
	firewalls := kube.Objects().Resource(firewall.GroupVersion.WithResource("egressfirewalls"))
	await.True(t, func() bool {
		_, err := firewalls.List(t.Context(), metav1.ListOptions{})
		return err == nil
	}, "the server has EgressFirewall")
	kube.Apply(walledPod)
	kube.Status(walledPodStatus)
	ovn.NBCtl("ls-add", "sw", "--", "lsp-add", "sw", "shop_web-0", "--", "lsp-set-addresses", "shop_web-0", "0a:00:00:00:00:01 10.244.9.1")
	program, err := buildOnce()
	require.NoError(t, err)
	ask := func(arguments ...string) (code int, out string) {
		t.Helper()
		var text bytes.Buffer
		command := exec.CommandContext(t.Context(), program, append(arguments, "--kubeconfig", kube.Kubeconfig())...)
		command.Stdout, command.Stderr = &text, &text
		err := command.Run()
		if failed := new(exec.ExitError); errors.As(err, &failed) {
			return failed.ExitCode(), text.String()
		}
		require.NoError(t, err)
		return 0, text.String()
	}
	const done, differs = 0, 2
	code, out := ask("probe", "shop/web-0->203.0.113.7:443")
	require.Equal(t, done, code, out)
	code, out = ask("probe", "shop/web-0->203.0.113.7:80")
	require.Equal(t, differs, code, out)
	require.Contains(t, out, "EgressFirewall/shop/default spec.egress[1]")
	code, out = ask("impact", "--without", "egressfirewall/shop/default")
	require.Equal(t, differs, code, out)
	require.Contains(t, out, "+ shop/web-0 -> outside ")
	code, out = ask("verify", "--ovn-nb", ovn.NBTCP())
	require.Equal(t, differs, code, out)
	require.Contains(t, out, "should be denied by EgressFirewall/shop/default")

	require.NoError(t, firewalls.Namespace("shop").Delete(t.Context(), "default", metav1.DeleteOptions{}))
	code, out = ask("verify", "--ovn-nb", ovn.NBTCP())
	require.Equal(t, done, code, out)
	code, out = ask("probe", "shop/web-0->203.0.113.7:80")
	require.Equal(t, done, code, out)
}
