package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/netloom/netloom/pkg/intent"
)

// The keys of the Secrets that the labels of a CNF's pod name.
const (
	passwordKey  = "password"
	authorityKey = "ca.crt"
)

// device says how to talk to a CNF. It reads the Secret of the certificate; that of the account is read at each login.
func (m *cnfs) device(ctx context.Context, g *intent.CNF) (Device, error) {
	d := Device{Target: targetName(g), Owner: m.owner, CNF: g.ID, Addr: g.Addr, Secret: m.secret}
	c := &d.Client
	c.Dial, c.Log = m.dial, m.log.WithField("target", d.Target)
	switch {
	case g.Certificate != "":
		ca, err := m.authority(ctx, g)
		if err != nil {
			return Device{}, err
		}
		c.URL, c.CA, c.ServerName = "https://"+hostOf(g.Addr), ca, podName(g.Addr, g.Origin.Namespace)
	case m.opts.PlainHTTP:
		c.URL = "http://" + hostOf(g.Addr)
	default:
		return Device{}, errors.New("the pod names no Secret with a certificate, and plain HTTP is switched off")
	}
	if g.Account != "" {
		c.Password = func(ctx context.Context) (string, error) {
			p, err := m.secret(ctx, intent.SecretRef{Namespace: g.Origin.Namespace, Name: g.Account, Key: passwordKey})
			return string(p), err
		}
	}
	return d, nil
}

// dialTimeout is how long a connection may take to be made. Without it one that nobody waits for any more would be tried for
// as long as the system does.
const dialTimeout = 10 * time.Second

// dial opens a connection.
func (m *cnfs) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if m.opts.Dial != nil {
		return m.opts.Dial(ctx, network, address)
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// authority is the CA of a CNF's certificate, in PEM.
func (m *cnfs) authority(ctx context.Context, g *intent.CNF) ([]byte, error) {
	return m.secret(ctx, intent.SecretRef{Namespace: g.Origin.Namespace, Name: g.Certificate, Key: authorityKey})
}

// secret reads one key of a Secret.
func (m *cnfs) secret(ctx context.Context, ref intent.SecretRef) ([]byte, error) {
	if m.opts.Secrets == nil {
		return nil, fmt.Errorf("read Secret %s/%s: no Secrets can be read", ref.Namespace, ref.Name)
	}
	data, err := m.opts.Secrets.Secret(ctx, ref.Namespace, ref.Name)
	if err != nil {
		return nil, err
	}
	value, ok := data[ref.Key]
	if !ok || len(value) == 0 {
		return nil, fmt.Errorf("read Secret %s/%s: it has no key %s", ref.Namespace, ref.Name, ref.Key)
	}
	return value, nil
}

// hostOf spells an address as the host of a URL.
func hostOf(a netip.Addr) string {
	if a.Is6() {
		return "[" + a.String() + "]"
	}
	return a.String()
}

// podName is the name that the cluster's DNS has for a pod, which its certificate is made out for.
func podName(a netip.Addr, namespace string) string {
	return strings.NewReplacer(".", "-", ":", "-").Replace(a.String()) + "." + namespace + ".pod.cluster.local"
}
