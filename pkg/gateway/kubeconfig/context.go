package kubeconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/definition"
)

// maxContexts is how many contexts a kubeconfig may have: a gateway checks the API servers of all of them.
const maxContexts = 1000

// Load reads a kubeconfig. A list of files, as in the variable KUBECONFIG, is merged as kubectl does.
func Load(path string) (*api.Config, error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: path}
	if list := filepath.SplitList(path); len(list) > 1 {
		rules = &clientcmd.ClientConfigLoadingRules{Precedence: list}
	}
	config, err := rules.Load()
	switch {
	case err != nil:
		return nil, fmt.Errorf("kubeconfig %s: %w", path, err)
	case len(config.Contexts) == 0:
		return nil, fmt.Errorf("kubeconfig %s: it has no contexts", path)
	case len(config.Contexts) > maxContexts:
		return nil, fmt.Errorf("kubeconfig %s: it has %d contexts, the limit is %d", path, len(config.Contexts), maxContexts)
	}
	return config, nil
}

// Context is a context of a kubeconfig that was taken over.
type Context struct {
	Name      string // in the kubeconfig
	Namespace string // that it selects; "" is the default
	// Object has the API server of the context, its user as clientConfig, and a dispatch policy for all requests. It has no faults by
	// package definition.
	Object *v1alpha1.UpstreamCluster
}

// TakeOver returns the contexts of a kubeconfig in the order of their names, and an error for each that cannot be taken over. It reads
// the files that the kubeconfig refers to.
func TakeOver(config *api.Config) (out []Context, refused []error) { return takeOverAll(config, false) }

// Refer is TakeOver for a gateway that has the kubeconfig: clusters whose users have an exec plugin, or a token or certificate in a file,
// refer to these users, and package credential follows their changes.
func Refer(config *api.Config) (out []Context, refused []error) { return takeOverAll(config, true) }

func takeOverAll(config *api.Config, references bool) (out []Context, refused []error) {
	named := names(slices.Collect(maps.Keys(config.Contexts)))
	for _, name := range slices.Sorted(maps.Keys(config.Contexts)) {
		object, err := takeOver(config, name, named[name], references)
		if err != nil {
			refused = append(refused, fmt.Errorf("context %q: %w", name, err))
			continue
		}
		out = append(out, Context{Name: name, Namespace: config.Contexts[name].Namespace, Object: object})
	}
	return out, refused
}

func takeOver(config *api.Config, context, name string, references bool) (*v1alpha1.UpstreamCluster, error) {
	of := config.Contexts[context]
	cluster, user := config.Clusters[of.Cluster], config.AuthInfos[of.AuthInfo]
	var faults []error
	if cluster == nil {
		faults = append(faults, fmt.Errorf("there is no cluster %q", of.Cluster))
	}
	switch {
	case of.AuthInfo == "":
		user = api.NewAuthInfo() // anonymous
	case user == nil:
		faults = append(faults, fmt.Errorf("there is no user %q", of.AuthInfo))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	o := &v1alpha1.UpstreamCluster{}
	o.APIVersion, o.Kind, o.Name = v1alpha1.GroupVersion.String(), v1alpha1.KindUpstreamCluster, name
	o.Spec.DispatchPolicies = []v1alpha1.DispatchPolicy{{Rules: []v1alpha1.DispatchPolicyRule{
		{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
		{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
	}}}
	endpoint, err := endpointOf(cluster.Server)
	faults = append(faults, err)
	o.Spec.Servers = []v1alpha1.UpstreamClusterServer{{Endpoint: endpoint}}
	faults = append(faults, serverOf(cluster, &o.Spec.ClientConfig)...)
	if references && changes(user) {
		o.Spec.ClientConfig.Credentials = &v1alpha1.Credentials{User: of.AuthInfo}
		faults = append(faults, unsupported(user)...)
	} else {
		faults = append(faults, userOf(user, &o.Spec.ClientConfig)...)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	return definition.Check(raw)
}

// endpointOf returns the endpoint for the server of a cluster. Some providers serve several clusters below paths of one host.
func endpointOf(server string) (string, error) {
	at, err := url.Parse(server)
	switch {
	case err != nil: // it quotes the URL, which may have a password
		return "", errors.New("server: it is no URL: expected https://HOST:PORT")
	case at.Scheme != "https" && at.Scheme != "http" || at.Hostname() == "":
		return "", fmt.Errorf("server %q: expected https://HOST:PORT", at.Redacted())
	case at.Path != "" && at.Path != "/" || at.RawQuery != "" || at.User != nil:
		return "", fmt.Errorf("server https://%s…: the gateway cannot take over a URL with a path", at.Host)
	}
	return at.Scheme + "://" + at.Host, nil
}

// serverOf fills in how to reach the API server.
func serverOf(c *api.Cluster, to *v1alpha1.ClientConfig) (faults []error) {
	if c.ProxyURL != "" {
		faults = append(faults, errors.New("proxy-url: the gateway cannot connect through a proxy"))
	}
	to.Insecure, to.ServerName = c.InsecureSkipTLSVerify, c.TLSServerName
	var err error
	to.CAData, err = content("certificate-authority", c.CertificateAuthorityData, c.CertificateAuthority)
	return append(faults, err)
}

// changes reports whether the credentials of a user are kept elsewhere.
func changes(u *api.AuthInfo) bool {
	return u.Exec != nil || u.TokenFile != "" || len(u.ClientCertificateData) == 0 && u.ClientCertificate != "" || len(u.ClientKeyData) == 0 && u.ClientKey != ""
}

// unsupported reports what the gateway does not support of a user.
func unsupported(u *api.AuthInfo) (faults []error) {
	switch {
	case u.Exec != nil && u.Exec.InteractiveMode == api.AlwaysExecInteractiveMode:
		faults = append(faults, fmt.Errorf("the exec plugin %s of the user asks questions (interactiveMode: Always), which the gateway cannot answer", u.Exec.Command))
	case u.AuthProvider != nil:
		faults = append(faults, fmt.Errorf("the user has the auth-provider %s, which kubectl does not have any more either", u.AuthProvider.Name))
	case u.Username != "" || u.Password != "":
		faults = append(faults, errors.New("the user has a password, which API servers do not accept any more"))
	}
	if u.Impersonate != "" || u.ImpersonateUID != "" || len(u.ImpersonateGroups) > 0 || len(u.ImpersonateUserExtra) > 0 {
		faults = append(faults, errors.New("the user has `as`: impersonation cannot be taken over from a context; use `kubectl --as` with the context of the user itself"))
	}
	return faults
}

// userOf fills in the credentials.
func userOf(u *api.AuthInfo, to *v1alpha1.ClientConfig) []error {
	faults := unsupported(u)
	if u.Exec != nil {
		faults = append(faults, fmt.Errorf("the user has the exec plugin %s, whose credentials do not last: write an UpstreamCluster with clientConfig.credentials.user, and give the gateway --credentials with this kubeconfig; or give the user a token or a certificate", u.Exec.Command))
	}
	var err error
	to.BearerToken = []byte(u.Token)
	if u.TokenFile != "" { // it takes precedence, as in client-go
		to.BearerToken, err = content("tokenFile", nil, u.TokenFile)
		to.BearerToken = bytes.TrimSpace(to.BearerToken)
		faults = append(faults, err)
	}
	to.CertData, err = content("client-certificate", u.ClientCertificateData, u.ClientCertificate)
	faults = append(faults, err)
	to.KeyData, err = content("client-key", u.ClientKeyData, u.ClientKey)
	return append(faults, err)
}

// maxFile is the size of a file that a kubeconfig may refer to, in bytes.
const maxFile = 1 << 20

// content returns the data of a field, or what is in its file.
func content(field string, data []byte, file string) ([]byte, error) {
	if len(data) > 0 || file == "" {
		return data, nil
	}
	info, err := os.Stat(file)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxFile) {
		err = fmt.Errorf("%s: expected a regular file of at most %d bytes", file, maxFile)
	}
	if err == nil {
		data, err = os.ReadFile(file) //nolint:gosec // whoever names the file may read it
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return data, nil
}

// Select leaves only the contexts with these names in a kubeconfig; all if there are no names.
func Select(config *api.Config, names []string) error {
	if len(names) == 0 {
		return nil
	}
	var unknown []string
	for _, name := range names {
		if config.Contexts[name] == nil {
			unknown = append(unknown, fmt.Sprintf("%q", name))
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("there is no context %s", strings.Join(unknown, ", "))
	}
	maps.DeleteFunc(config.Contexts, func(name string, _ *api.Context) bool { return !slices.Contains(names, name) })
	return nil
}
