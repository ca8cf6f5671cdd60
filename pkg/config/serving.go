package config

import (
	"net"
	"net/netip"

	"github.com/netloom/netloom/pkg/config/setting"
)

// Serving configures the HTTP servers of listen, debug-listen and ui-listen.
type Serving struct {
	TLS  ServingTLS
	Cert string // files, with ServingFiles
	Key  string
	Auth ServingAuth
	// Hosts are the accepted host names in addition to addresses and localhost; see auth.Hosts.
	Hosts []string
}

// ServingTLS is the source of the server's certificate.
type ServingTLS string

// The sources of a certificate.
const (
	ServingClear ServingTLS = "none"  // no certificate: plain HTTP
	ServingSelf  ServingTLS = "self"  // self-signed, so clients cannot verify it
	ServingFiles ServingTLS = "files" // files that netloom does not write
)

// ServingAuth is how requests are authorized.
type ServingAuth string

// The values of ServingAuth.
const (
	ServingAnybody    ServingAuth = "none"
	ServingKubernetes ServingAuth = "kubernetes"
)

func (c *Config) servingSettings() []setting.Setting {
	return []setting.Setting{
		setting.Choice("listen-tls", string(ServingClear), "certificate for listen, debug-listen and ui-listen, over TLS 1.2 or newer: none, a self-signed one that clients cannot verify, or the one in listen-cert; "+
			"debug-listen and ui-listen on a loopback address do not use TLS",
			[]ServingTLS{ServingClear, ServingSelf, ServingFiles}, &c.Serving.TLS),
		setting.Text("listen-cert", "", "certificate file for listen-tls files; read again when it changes",
			&c.Serving.Cert),
		setting.Text("listen-key", "", "private key file of listen-cert",
			&c.Serving.Key),
		setting.Choice("listen-auth", string(ServingAnybody), "authentication of requests to listen, except /healthz and /readyz, and to debug-listen and ui-listen unless on a loopback address: "+
			"none, or kubernetes for bearer tokens (TokenReview) with permission to get the path (SubjectAccessReview)",
			[]ServingAuth{ServingAnybody, ServingKubernetes}, &c.Serving.Auth),
		setting.Hosts("listen-hosts", "*.svc,*.svc.cluster.local", "host names that requests may use, in addition to IP addresses and localhost, on addresses other than loopback",
			&c.Serving.Hosts),
	}
}

// servingContradictions finds settings of the HTTP servers that are valid alone but not together.
func (c *Config) servingContradictions(bad map[string]bool, fault func(key, reason string)) {
	s := &c.Serving
	if !bad["listen-tls"] {
		switch {
		case s.TLS == ServingFiles && (s.Cert == "" || s.Key == ""):
			fault("listen-tls", "files needs listen-cert and listen-key")
		case s.TLS != ServingFiles && s.Cert != "":
			fault("listen-cert", "needs listen-tls files")
		case s.TLS != ServingFiles && s.Key != "":
			fault("listen-key", "needs listen-tls files")
		}
	}
	if bad["listen-auth"] || s.Auth != ServingKubernetes {
		return
	}
	if c.Manifests != "" {
		fault("listen-auth", "kubernetes cannot be combined with manifests ("+c.origins["manifests"].String()+"): it requires a Kubernetes API")
	}
	if bad["listen-tls"] || s.TLS != ServingClear {
		return
	}
	for _, at := range []struct{ key, address string }{{"listen", c.Listen}, {"debug-listen", c.DebugListen}, {"ui-listen", c.UIListen}} {
		if at.address != "" && !bad[at.key] && !IsLoopback(at.address) {
			fault("listen-auth", "kubernetes needs listen-tls self or files unless "+at.key+" ("+c.origins[at.key].String()+
				") is a loopback address: tokens must not be sent unencrypted")
			return
		}
	}
}

// IsLoopback reports whether HOST:PORT can be reached from the same machine only.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}
