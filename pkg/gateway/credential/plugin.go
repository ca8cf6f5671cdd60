package credential

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientauthentication "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
)

const (
	maxOutput  = 1 << 20         // bytes that a plugin may print
	afterKill  = 2 * time.Second // for programs that a plugin has started to let go of its output
	infoEnv    = "KUBERNETES_EXEC_INFO"
	pluginKind = "ExecCredential"
)

// pluginVersions are the versions of the protocol. Their objects have the same form.
var pluginVersions = []string{"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"}

// run runs an exec plugin until ctx ends, which kills it. client-go's own runner, k8s.io/client-go/plugin/pkg/client/auth/exec, waits
// forever for a plugin that hangs.
func run(ctx context.Context, config *api.ExecConfig, of *v1alpha1.UpstreamCluster, log logrus.FieldLogger) (*credential, error) {
	switch {
	case !slices.Contains(pluginVersions, config.APIVersion):
		return nil, fmt.Errorf("apiVersion %q is not supported", config.APIVersion)
	case config.InteractiveMode == api.AlwaysExecInteractiveMode:
		return nil, errors.New("interactiveMode is Always, but the gateway runs without a terminal")
	}
	info, err := json.Marshal(question(config, of))
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, config.Command, config.Args...) //nolint:gosec // the operator's kubeconfig names it
	cmd.Env = os.Environ()
	for _, v := range config.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	cmd.Env = append(cmd.Env, infoEnv+"="+string(info))
	cmd.WaitDelay = afterKill
	separate(cmd)
	var out, errout limited
	cmd.Stdout, cmd.Stderr = &out, &errout
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = errors.New("it did not end in time, and was killed")
		}
		log.WithError(err).WithField("stderr", errout.String()).Debug("a credential plugin failed")
		return nil, err
	}
	if out.cut {
		return nil, fmt.Errorf("it printed more than %d bytes", maxOutput)
	}
	return answerOf(out.Bytes(), config.APIVersion)
}

// question is what the plugin reads in its environment.
func question(config *api.ExecConfig, of *v1alpha1.UpstreamCluster) *clientauthentication.ExecCredential {
	q := &clientauthentication.ExecCredential{TypeMeta: metav1.TypeMeta{APIVersion: config.APIVersion, Kind: pluginKind}}
	if config.ProvideClusterInfo && len(of.Spec.Servers) > 0 {
		client := &of.Spec.ClientConfig
		q.Spec.Cluster = &clientauthentication.Cluster{
			Server: of.Spec.Servers[0].Endpoint, TLSServerName: client.ServerName, InsecureSkipTLSVerify: client.Insecure,
			CertificateAuthorityData: client.CAData,
		}
	}
	return q
}

func answerOf(text []byte, version string) (*credential, error) {
	var got clientauthentication.ExecCredential
	if err := json.Unmarshal(text, &got); err != nil {
		return nil, errors.New("it did not print an ExecCredential in JSON") // the error may quote a token
	}
	switch {
	case got.Kind != pluginKind || got.APIVersion != version:
		return nil, fmt.Errorf("it printed apiVersion %q, kind %q: expected %s, %s", got.APIVersion, got.Kind, version, pluginKind)
	case got.Status == nil:
		return nil, errors.New("it printed no status")
	}
	out := &credential{token: []byte(got.Status.Token), cert: []byte(got.Status.ClientCertificateData), key: []byte(got.Status.ClientKeyData)}
	if got.Status.ExpirationTimestamp != nil {
		out.expires = got.Status.ExpirationTimestamp.Time
	}
	return out, out.check()
}

// limited keeps the beginning of what is written.
type limited struct {
	bytes.Buffer
	cut bool
}

func (l *limited) Write(p []byte) (int, error) {
	room := maxOutput - l.Len()
	if len(p) > room {
		l.cut = true
		_, _ = l.Buffer.Write(p[:room])
		return len(p), nil
	}
	return l.Buffer.Write(p)
}
