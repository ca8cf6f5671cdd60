package tungsten

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/config/setting"
	"github.com/netloom/netloom/pkg/tungsten"
)

// Settings determine where the configuration servers of a controller are, as configured by people. The zero value has no target;
// Group has the defaults.
type Settings struct {
	Servers       []string // URLs, see tungsten.Options
	CA, Cert, Key string   // files
	ServerName    string
	User          string
	PasswordFile  string
	Keystone      string // URL; "" is basic authentication if there is a user
	Project       string
	UserDomain    string
	ProjectDomain string
	ClusterName   string // under which kube-manager annotates the interfaces of the cluster's pods
	// ServiceNetwork is the virtual network of the cluster addresses of Services, as DOMAIN:PROJECT:NAME; "" is that of kube-manager.
	ServiceNetwork string
}

// Embedded is the only element of Settings.Servers for a controller within the process. The code that runs the controller replaces
// it.
const Embedded = "embedded"

// Embedded reports whether the controller runs within the process.
func (s *Settings) Embedded() bool { return len(s.Servers) == 1 && s.Servers[0] == Embedded }

// Configured reports whether there is a controller to write to.
func (s *Settings) Configured() bool { return len(s.Servers) > 0 }

// Group lists the settings, bound to s.
func (s *Settings) Group() setting.Group {
	return setting.Group{Settings: s.list(), Conflicts: s.conflicts, Configured: s.Configured, Shared: true}
}

func (s *Settings) list() []setting.Setting {
	const server = "http://HOST:PORT or https://HOST:PORT"
	return []setting.Setting{
		s.servers(server),
		setting.Text("tungsten-ca-cert", "", "file with CA certificates to verify the servers and Keystone; default: those of the system",
			&s.CA),
		setting.Text("tungsten-cert", "", "client certificate file for the servers",
			&s.Cert),
		setting.Text("tungsten-key", "", "private key file of tungsten-cert",
			&s.Key),
		setting.Text("tungsten-server-name", "", "name that the certificates of the servers must contain; default: the host of each URL",
			&s.ServerName),
		setting.Text("tungsten-user", "", "user to log in as; empty if the servers do not authenticate",
			&s.User),
		setting.Text("tungsten-password-file", "", "file with the password of tungsten-user; read again for every token",
			&s.PasswordFile),
		setting.Parsed("tungsten-keystone", "", "address of the Keystone API that issues tokens; empty means basic authentication",
			server+"/v3", checkURL, &s.Keystone),
		setting.Text("tungsten-project", "admin", "project in Keystone that the tokens are for",
			&s.Project),
		setting.Text("tungsten-user-domain", "Default", "domain of tungsten-user in Keystone",
			&s.UserDomain),
		setting.Text("tungsten-project-domain", "Default", "domain of tungsten-project in Keystone",
			&s.ProjectDomain),
		setting.Text("tungsten-cluster-name", DefaultCluster, "name of the cluster in the configuration of its kube-manager, by which the interfaces of its pods are found",
			&s.ClusterName),
		setting.Parsed("tungsten-service-network", "", "virtual network that has the cluster addresses of Services; default: default-domain:NAME-default:NAME-default-service-network, where NAME is tungsten-cluster-name",
			"DOMAIN:PROJECT:NAME", checkNetwork, &s.ServiceNetwork),
	}
}

// Network returns the fully qualified name of the network of Services.
func (s *Settings) Network() []string {
	if s.ServiceNetwork != "" {
		return strings.Split(s.ServiceNetwork, ":")
	}
	cluster := cmp.Or(s.ClusterName, DefaultCluster)
	return []string{"default-domain", cluster + "-default", cluster + "-default-service-network"}
}

func checkNetwork(v string) error {
	if parts := strings.Split(v, ":"); len(parts) != 3 || slices.Contains(parts, "") {
		return fmt.Errorf("%q is not DOMAIN:PROJECT:NAME", v)
	}
	return nil
}

func (s *Settings) servers(form string) setting.Setting {
	list := setting.List("tungsten", "",
		"configuration servers of the Tungsten Fabric controller, or "+Embedded+" for a simulated controller in memory",
		form+", separated by commas, or "+Embedded, func(v string) bool { return v == Embedded || isServer(v) }, &s.Servers)
	set := list.Set
	list.Set = func(v string) bool { return set(v) && (len(s.Servers) <= 1 || !slices.Contains(s.Servers, Embedded)) }
	return list
}

// conflicts reports what is missing to connect.
func (s *Settings) conflicts(report func(key, reason string)) {
	switch {
	case s.Cert == "" && s.Key != "":
		report("tungsten-key", "needs tungsten-cert")
	case s.Cert != "" && s.Key == "":
		report("tungsten-cert", "needs tungsten-key")
	}
	switch {
	case s.User == "" && s.Keystone != "":
		report("tungsten-keystone", "needs tungsten-user")
	case s.User == "" && s.PasswordFile != "":
		report("tungsten-password-file", "needs tungsten-user")
	case s.User != "" && s.PasswordFile == "":
		report("tungsten-user", "needs tungsten-password-file")
	}
}

// Client returns the options of the client. It reads the certificates, which the client reads again for each connection, but not the
// password.
func (s *Settings) Client() (tungsten.Options, error) {
	out := tungsten.Options{URLs: s.Servers, ServerName: s.ServerName, User: s.User}
	var err error
	if out.Credentials, err = s.credentials(); s.CA+s.Cert != "" {
		out.Renewed = s.credentials
	}
	if s.User != "" {
		out.Password = s.password
	}
	if s.Keystone != "" {
		out.Keystone = &tungsten.Keystone{
			URL: s.Keystone, Project: s.Project, UserDomain: s.UserDomain, ProjectDomain: s.ProjectDomain,
		}
	}
	return out, err
}

// credentials reads the files for TLS.
func (s *Settings) credentials() (tungsten.Credentials, error) {
	var out tungsten.Credentials
	var faults []error
	for _, file := range []struct {
		name string
		into *[]byte
	}{{s.CA, &out.CA}, {s.Cert, &out.Certificate}, {s.Key, &out.Key}} {
		if file.name == "" {
			continue
		}
		content, err := os.ReadFile(file.name)
		if err != nil {
			faults = append(faults, err)
		}
		*file.into = content
	}
	return out, errors.Join(faults...)
}

// password reads the file, without the end of its last line.
func (s *Settings) password(context.Context) (string, error) {
	content, err := os.ReadFile(s.PasswordFile)
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(content), "\r\n"), nil
}

// isServer reports whether v has the form of a server's URL. The client checks it fully.
func isServer(v string) bool {
	return checkURL(v) == nil && strings.Count(strings.TrimRight(v, "/"), "/") == 2
}

func checkURL(v string) error {
	u, err := url.Parse(v)
	if err != nil {
		return errors.New("not a URL") // it may contain a password
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%s: not a URL of a server", u.Redacted())
	}
	return nil
}
