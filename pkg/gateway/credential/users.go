package credential

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
)

const (
	maxFile    = 4 << 20         // bytes of a kubeconfig, and of a file that it refers to
	readAgain  = time.Minute     // how long the content of the kubeconfig is used that looks the same
	renewAt    = 0.8             // of its lifetime, a plugin's credential is renewed
	soonest    = 5 * time.Second // between two runs of a plugin
	unlimited  = 10 * time.Hour  // how long the credential of a plugin is used that does not say when it expires
	pluginTime = 30 * time.Second
)

// Users are the users of a kubeconfig file. Make it with NewUsers. It is safe for concurrent use.
type Users struct {
	path string

	mu    sync.Mutex
	read  time.Time
	stamp string // of the files that were read
	users map[string]*api.AuthInfo
	err   error
}

// NewUsers returns the users of a file, or of a list of files as in the variable KUBECONFIG, which need not exist yet. Whoever can change
// them has programs run.
func NewUsers(path string) *Users { return &Users{path: path} }

// find returns a user of the file as it is now.
func (u *Users) find(name string) (*api.AuthInfo, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if now := stampOf(u.path); u.read.IsZero() || now != u.stamp || time.Since(u.read) >= readAgain {
		u.users, u.err = readUsers(u.path)
		u.read, u.stamp = time.Now(), now
	}
	if u.err != nil {
		return nil, u.err
	}
	if user := u.users[name]; user != nil {
		return user, nil
	}
	return nil, fmt.Errorf("%s has no user %q", u.path, name)
}

// stampOf distinguishes states of files without reading them.
func stampOf(path string) string {
	var b strings.Builder
	for _, file := range filepath.SplitList(path) {
		if info, err := os.Stat(file); err == nil {
			fmt.Fprintln(&b, info.ModTime().UnixNano(), info.Size())
		}
	}
	return b.String()
}

func readUsers(path string) (map[string]*api.AuthInfo, error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: path}
	list := filepath.SplitList(path)
	if len(list) > 1 {
		rules = &clientcmd.ClientConfigLoadingRules{Precedence: list}
	}
	for _, file := range list {
		if info, err := os.Stat(file); err == nil && (!info.Mode().IsRegular() || info.Size() > maxFile) {
			return nil, fmt.Errorf("%s: expected a regular file of at most %d bytes", file, maxFile)
		}
	}
	config, err := rules.Load()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	return config.AuthInfos, nil
}

// userSource obtains the credentials of one user.
type userSource struct {
	users *Users
	name  string
	of    *v1alpha1.UpstreamCluster // what plugins are told about the cluster
	log   logrus.FieldLogger

	ran    *api.ExecConfig // what last came from a plugin
	at     time.Time
	issued *credential
}

func (s *userSource) obtain(ctx context.Context, force bool) (*credential, error) {
	if s.users == nil {
		return nil, errors.New("spec.clientConfig.credentials.user: the setting gateway-credentials is not set")
	}
	user, err := s.users.find(s.name)
	if err != nil {
		return nil, err
	}
	if user.AuthProvider != nil || user.Username != "" || user.Password != "" || user.Impersonate != "" {
		return nil, fmt.Errorf("user %q: only tokens, certificates and exec plugins are supported", s.name)
	}
	if user.Exec != nil {
		return s.plugin(ctx, user.Exec, force)
	}
	out := &credential{token: []byte(user.Token)}
	if user.TokenFile != "" { // it takes precedence, as in client-go
		out.token, err = content(nil, user.TokenFile)
		out.token = bytes.TrimSpace(out.token)
	}
	var faults [2]error
	out.cert, faults[0] = content(user.ClientCertificateData, user.ClientCertificate)
	out.key, faults[1] = content(user.ClientKeyData, user.ClientKey)
	if err = errors.Join(err, faults[0], faults[1]); err != nil {
		return nil, fmt.Errorf("user %q: %w", s.name, err)
	}
	_, out.expires = lifetime(out.token)
	return out, nil
}

// plugin returns what a plugin has issued, and runs it if that expires soon or was refused.
func (s *userSource) plugin(ctx context.Context, exec *api.ExecConfig, force bool) (*credential, error) {
	if s.issued != nil && sameProgram(s.ran, exec) {
		until := s.at.Add(unlimited)
		if !s.issued.expires.IsZero() {
			until = s.at.Add(time.Duration(renewAt * float64(s.issued.expires.Sub(s.at))))
		}
		if now := time.Now(); now.Before(s.at.Add(soonest)) || !force && now.Before(until) {
			return s.issued, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, pluginTime)
	defer cancel()
	issued, err := run(ctx, exec, s.of, s.log)
	if err != nil {
		return nil, fmt.Errorf("plugin %s of user %q: %w", exec.Command, s.name, err)
	}
	s.ran, s.at, s.issued = exec, time.Now(), issued
	return issued, nil
}

func sameProgram(a, b *api.ExecConfig) bool {
	return a.Command == b.Command && a.APIVersion == b.APIVersion && reflect.DeepEqual(a.Args, b.Args) && reflect.DeepEqual(a.Env, b.Env)
}

// content returns data, or what is in a file.
func content(data []byte, file string) ([]byte, error) {
	if len(data) > 0 || file == "" {
		return data, nil
	}
	info, err := os.Stat(file)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxFile) {
		err = fmt.Errorf("%s: expected a regular file of at most %d bytes", file, maxFile)
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(file) //nolint:gosec // the operator's kubeconfig names it
}
