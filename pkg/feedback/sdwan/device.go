package sdwan

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

// Keys of the Secrets that are named by the labels of a CNF's pod.
const (
	passwordKey  = "password"
	authorityKey = "ca.crt"
)

// device returns how to connect to the device of a CNF. It reads the Secret of the certificate; that of the account is read
// at each login.
func (f *fleet) device(ctx context.Context, c *intent.CNF) (Device, error) {
	d := Device{Target: c.Target(), Owner: f.env.Owner, CNF: c.ID, Addr: c.Addr, Secret: f.secret}
	d.Client.Dial, d.Client.Log = f.dial, f.env.Log.WithField("target", d.Target)
	switch {
	case c.Certificate != "":
		ca, err := f.authority(ctx, c)
		if err != nil {
			return Device{}, err
		}
		d.Client.URL, d.Client.CA, d.Client.ServerName = "https://"+hostOf(c.Addr), ca, podName(c.Addr, c.Origin.Namespace)
	case f.opts.PlainHTTP:
		d.Client.URL = "http://" + hostOf(c.Addr)
	default:
		return Device{}, errors.New("the pod names no Secret with a certificate, and plain HTTP is disabled")
	}
	if c.Account != "" {
		d.Client.Password = func(ctx context.Context) (string, error) {
			p, err := f.secret(ctx, intent.SecretRef{Namespace: c.Origin.Namespace, Name: c.Account, Key: passwordKey})
			return string(p), err
		}
	}
	return d, nil
}

// dialTimeout is how long opening a connection may take. Without it, the system would keep trying for requests that have
// been abandoned.
const dialTimeout = 10 * time.Second

// dial opens a connection.
func (f *fleet) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if f.opts.Dial != nil {
		return f.opts.Dial(ctx, network, address)
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// authority returns the CA of the certificate of a CNF, in PEM.
func (f *fleet) authority(ctx context.Context, c *intent.CNF) ([]byte, error) {
	return f.secret(ctx, intent.SecretRef{Namespace: c.Origin.Namespace, Name: c.Certificate, Key: authorityKey})
}

// secret reads one key of a Secret.
func (f *fleet) secret(ctx context.Context, ref intent.SecretRef) ([]byte, error) {
	if f.opts.Secrets == nil {
		return nil, fmt.Errorf("read Secret %s/%s: no Secrets can be read", ref.Namespace, ref.Name)
	}
	data, err := f.opts.Secrets.Secret(ctx, ref.Namespace, ref.Name)
	if err != nil {
		return nil, err
	}
	value, ok := data[ref.Key]
	if !ok || len(value) == 0 {
		return nil, fmt.Errorf("read Secret %s/%s: it has no key %s", ref.Namespace, ref.Name, ref.Key)
	}
	return value, nil
}

// hostOf formats an address as the host of a URL.
func hostOf(a netip.Addr) string {
	if a.Is6() {
		return "[" + a.String() + "]"
	}
	return a.String()
}

// podName returns the name of a pod in the DNS of the cluster, for which its certificate is issued.
func podName(a netip.Addr, namespace string) string {
	return strings.NewReplacer(".", "-", ":", "-").Replace(a.String()) + "." + namespace + ".pod.cluster.local"
}
