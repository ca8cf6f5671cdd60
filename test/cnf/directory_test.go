package cnf

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/inputs/manifest"
)

// still is a directory that does not change, and that is not watched: the clock of a bubble stands while a file is waited for.
type still struct{ *manifest.Directory }

// Run does nothing until ctx ends.
func (s still) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// designed are resources as the design document writes them: in the older group, and with the older names of two fields.
const designed = `
apiVersion: sdewan.akraino.org/v1alpha1
kind: IpsecProposal
metadata:
  name: test-proposal-1
  namespace: default
  labels: {sdewanPurpose: cnf-1}
spec: {encryption_algorithm: aes128, hash_algorithm: sha256, dh_group: modp3072}
---
apiVersion: sdewan.akraino.org/v1alpha1
kind: IpsecSite
metadata:
  name: ipsecsite-sample
  namespace: default
  labels: {sdewanPurpose: cnf-1}
spec:
  remote: 10.10.70.39
  authentication_method: psk
  pre_shared_key: xxx
  local_public_cert:
  local_identifier:
  crypto_proposal:
  - test-proposal-1
  connections:
  - connection_name: connection_A
    type: tunnel
    mode: start
    local_subnet: 172.12.0.0/24, 10.239.160.22
    remote_sourceip: 172.12.0.30-172.12.0.45
    remote_subnet:
    crypto_proposal:
    - test-proposal-1
---
apiVersion: batch.sdewan.akraino.org/v1alpha1
kind: Mwan3Policy
metadata:
  name: balance1
  namespace: default
  labels: {sdewanPurpose: cnf-1}
spec:
  members:
  - {network: ovn-net1, weight: 2, metric: 2}
  - {network: ovn-net2, weight: 3, metric: 3}
`

// TestManifestsOfTheDesignDocument configures a device from a directory, which needs no API, with what the design document
// says, but for the name of its proposal, which no object can have.
func TestManifestsOfTheDesignDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCluster(t)
		defer c.Close()
		require.NoError(t, c.Network(workload{namespace: "default", name: "cnf", purpose: "cnf-1"}, 1))
		r := c.devices.of("default/cnf-1")
		dir := t.TempDir()
		pod, err := yaml.Marshal(r.manifest().Object)
		require.NoError(t, err)
		account, err := yaml.Marshal(secret("default", "cnf-account", map[string]string{"password": password}).Object)
		require.NoError(t, err)
		for name, text := range map[string]string{"pod": string(pod), "account": string(account), "designed": designed} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600))
		}
		source, err := manifest.LoadDirectory(dir, manifest.Options{}, c.log)
		require.NoError(t, err)
		c.change = func(o *daemon.Options) {
			o.Source, o.SDWAN.Dynamic, o.SDWAN.Secrets = still{source}, nil, source
		}
		c.Start()
		time.Sleep(rest)
		st := &stage{cluster: c}
		require.NoError(t, st.problem([]string{"none"}))
		for _, want := range [][]string{
			{"ipsec/proposal", "1", "encryption_algorithm=aes128"},
			{"ipsec/remote", "1", "gateway=10.10.70.39"},
			{"ipsec/tunnel", "1", "local_subnet=172.12.0.0/24, 10.239.160.22", "remote_sourceip=172.12.0.30-172.12.0.45"},
			{"mwan3/policy", "1"},
		} {
			require.NoError(t, st.device(append([]string{r.key()}, want...)), c.log.recent())
		}
		require.NoError(t, st.quiet([]string{"1h"}))
	})
}
