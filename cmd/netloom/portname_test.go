package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// misnamed is a policy for a port that its pods declare under another name.
const misnamed = `apiVersion: v1
kind: Pod
metadata: {name: db-0, namespace: store, labels: {app: db}}
spec: {containers: [{name: c, image: x, ports: [{name: postgres, containerPort: 5432}]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: store, labels: {app: web}}
spec: {containers: [{name: c, image: x}]}
---
apiVersion: v1
kind: Pod
metadata: {name: job-0, namespace: store, labels: {app: job}}
spec: {containers: [{name: c, image: x}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: db, namespace: store}
spec:
  podSelector: {matchLabels: {app: db}}
  policyTypes: [Ingress]
  ingress:
  - from: [{podSelector: {matchLabels: {app: web}}}]
    ports: [{port: pgsql}]
  - ports: [{port: postgres}]
`

func TestAPortThatNoPodDeclaresIsTheReason(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.yaml")
	require.NoError(t, os.WriteFile(path, []byte(misnamed), 0o600))
	const reason = `almost matched: NetworkPolicy/store/db spec.ingress[0] names the port "pgsql", which no selected pod declares`
	explained := netloom(t, "explain", "-f", path, "networkpolicy/store/db").out
	require.Contains(t, explained, `note: spec.ingress[0].ports[0].port: no selected pod declares a tcp port "pgsql"`)
	require.NotContains(t, explained, `port "postgres"`)
	require.Contains(t, netloom(t, "probe", "-f", path, "store/web-0->store/db-0:15432").out, reason)
	const note = `NetworkPolicy/store/db: spec.ingress[0].ports[0].port: no selected pod declares a tcp port "pgsql"`
	translated := netloom(t, "translate", "-f", path)
	require.Equal(t, exitDone, translated.code, "what allows nothing is no problem")
	require.Contains(t, translated.errout, "note: "+note)
	require.NotContains(t, translated.errout, "postgres")
	require.Contains(t, netloom(t, "translate", "-f", path, "-o", "jsonpath={.intents.policies[*].undeclared}").out, "pgsql")
	for name, connection := range map[string]string{
		"a peer of no rule": "store/job-0->store/db-0:15432", "another protocol": "store/web-0->store/db-0:udp/53",
		"an address": "192.0.2.1->store/db-0:15432",
	} {
		require.NotContains(t, netloom(t, "probe", "-f", path, connection).out, "pgsql", name)
	}
}
