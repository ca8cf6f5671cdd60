package openwrt_test

import (
	"encoding/base64"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// file reads a key or certificate for tests.
func file(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return string(text)
}

// pskSite is a site with a key in clear.
func pskSite(name, key, local, peer string, proposal *intent.DeviceIntent) *intent.DeviceIntent {
	return of("IpsecSite", name, &intent.Tunnel{
		Remote: "10.10.10.35", Authentication: intent.PreSharedKey, Key: intent.SecretValue{Value: intent.Secret(key)},
		LocalID: local, RemoteID: peer, Proposals: []intent.DeviceRef{ref(proposal)},
		Connections: []intent.Connection{{Name: "c", Start: "start", LocalSubnet: "192.168.1.0/24"}},
	}, proposal)
}

// loaded lists the keys that strongSwan has, with the identifiers that they are for.
func loaded(r *rig) []string {
	var out []string
	for _, s := range r.device.Secrets() {
		out = append(out, strings.Join(s.IDs, " ")+": "+s.Key)
	}
	slices.Sort(out)
	return out
}

// TestPreSharedKeysArriveAsTheyAre has strongSwan load every key as the person who chose it wrote it.
func TestPreSharedKeysArriveAsTheyAre(t *testing.T) {
	for _, key := range []string{
		"simple", "with-._~+/=signs", "two words", `"quoted`, "'apostrophe", "hash # and : colon", "ünïcode ☃", "back\\slash $HOME `id`", "%any", "@x",
	} {
		t.Run(key, func(t *testing.T) {
			r := newRig(t)
			proposal := of("IpsecProposal", "p", &intent.Proposal{Encryption: "aes256", Hash: "sha256", DHGroup: "modp4096"})
			r.put(proposal, pskSite("a", key, "edge", "hub", proposal), pskSite("b", "later", "edge", "other", proposal))
			require.Empty(t, r.reconcile(t).Skips)
			require.Equal(t, []string{"edge hub: " + key, "edge other: later"}, loaded(r))
			r.requireSettled(t)
		})
	}
}

// TestPreSharedKeyOfASecret has a key of arbitrary bytes in a Secret.
func TestPreSharedKeyOfASecret(t *testing.T) {
	r := newRig(t)
	proposal := of("IpsecProposal", "p", &intent.Proposal{Encryption: "aes256", Hash: "sha256", DHGroup: "modp4096"})
	site := pskSite("a", "", "edge", "hub", proposal)
	site.Spec.(*intent.Tunnel).Key = intent.SecretValue{From: pskRef}
	key := "\x01\"line\nbreak\xff"
	r.secrets[pskRef] = []byte(" " + key + "\n")
	r.put(proposal, site)
	require.Empty(t, r.reconcile(t).Skips)
	require.Equal(t, []string{"edge hub: " + key}, loaded(r))
	r.requireSettled(t)
	before := r.device.Export("ipsec")
	for bad, why := range map[string]string{"0xzz": "hexadecimal", "0s%": "base64", strings.Repeat("x", 1025): "longer than 1024 bytes"} {
		r.secrets[pskRef] = []byte(bad)
		p := r.reconcileFully(t)
		require.Contains(t, skipOf(p, site), why)
		require.Contains(t, skipOf(p, site), "Secret shop/branch, key psk; the previous configuration stays")
		require.NotContains(t, skipOf(p, site), bad)
		require.Equal(t, before, r.device.Export("ipsec"))
	}
}

// TestEncodedKeys leaves keys alone that strongSwan decodes.
func TestEncodedKeys(t *testing.T) {
	r := newRig(t)
	proposal := of("IpsecProposal", "p", &intent.Proposal{Encryption: "aes256", Hash: "sha256", DHGroup: "modp4096"})
	text := "0s" + base64.StdEncoding.EncodeToString([]byte("base 64"))
	r.put(proposal, pskSite("a", "0x74776f20", "edge", "hub", proposal), pskSite("b", text, "edge", "other", proposal))
	require.Empty(t, r.reconcile(t).Skips)
	require.Equal(t, []string{"edge hub: two ", "edge other: base 64"}, loaded(r))
}

// TestIdentifiersThatBreakTheFile are refused, so that the keys of other tunnels are loaded.
func TestIdentifiersThatBreakTheFile(t *testing.T) {
	for _, tc := range []struct {
		id  string
		psk bool // whether it is possible with a key
	}{
		{"hub", true},
		{"@hub.example", true},
		{"user@hub", true},
		{"C=CH,O=x,CN=hub", true},
		{"2001:db8::1", true},
		{"::1", true},
		{"%any", true},
		{"C=CH, O=x, CN=hub", false},
		{"two words", false},
		{"'open", false},
		{`"open`, false},
		{"#comment", false},
		{"a : PSK b", false},
		{": PSK", false},
		{"include", false},
	} {
		t.Run(tc.id, func(t *testing.T) {
			r := newRig(t)
			proposal := of("IpsecProposal", "p", &intent.Proposal{Encryption: "aes256", Hash: "sha256", DHGroup: "modp4096"})
			a, b := pskSite("a", "first", tc.id, "hub", proposal), pskSite("b", "later", "edge", "other", proposal)
			r.put(proposal, a, b)
			p := r.reconcile(t)
			require.Contains(t, loaded(r), "edge other: later")
			if tc.psk {
				require.Empty(t, p.Skips)
				require.Contains(t, loaded(r), tc.id+" hub: first")
				return
			}
			require.Contains(t, skipOf(p, a), "local identifier: ")
			require.Len(t, loaded(r), 1)
			r.put(pskSite("a", "first", "edge", tc.id, proposal))
			require.Contains(t, skipOf(r.reconcile(t), a), "remote identifier: ")
		})
	}
}

// pubkeySite is a site with certificates from Secrets.
func pubkeySite(name string, proposal *intent.DeviceIntent) *intent.DeviceIntent {
	return of("IpsecSite", name, &intent.Tunnel{
		Remote: "10.10.10.35", Authentication: intent.PublicKey, Proposals: []intent.DeviceRef{ref(proposal)}, LocalID: "C=CH, CN=edge",
		Certificate: intent.SecretValue{From: certRef("tls.crt")}, PrivateKey: intent.SecretValue{From: certRef("tls.key")},
		CA:          intent.SecretValue{From: certRef("ca.crt")},
		Connections: []intent.Connection{{Name: "c", Start: "start", LocalSubnet: "192.168.1.0/24"}},
	}, proposal)
}

// trusted lists the CAs that strongSwan trusts.
func trusted(r *rig) []string {
	var out []string
	for _, c := range r.device.TrustedCAs() {
		out = append(out, c.Subject.CommonName)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// certified is a rig with a site, two CAs and a chain of two certificates.
func certified(t *testing.T) (*rig, *intent.DeviceIntent, *intent.DeviceIntent) {
	r := newRig(t)
	proposal := of("IpsecProposal", "p", &intent.Proposal{Encryption: "aes256", Hash: "sha256", DHGroup: "modp4096"})
	site := pubkeySite("a", proposal)
	r.secrets[certRef("tls.crt")] = []byte(testPEM + testPEM)
	r.secrets[certRef("tls.key")] = []byte(file(t, "rsa.key"))
	r.secrets[certRef("ca.crt")] = []byte(file(t, "ca1.crt") + file(t, "ca2.crt"))
	r.put(proposal, site)
	require.Empty(t, r.reconcile(t).Skips)
	require.Equal(t, []string{"first CA", "second"}, trusted(r))
	require.Len(t, r.device.PrivateKeys(), 1)
	r.requireSettled(t)
	return r, site, proposal
}

// TestWithdrawnCertificates has a CA withdrawn, the certificates replaced by a key, and the tunnel deleted: nothing of them stays.
func TestWithdrawnCertificates(t *testing.T) {
	noneLeft := func(t *testing.T, r *rig) {
		require.Empty(t, trusted(r))
		require.Empty(t, r.device.PrivateKeys())
		for path, text := range r.device.Files() {
			require.NotContains(t, text, "-----BEGIN", path)
		}
	}
	for name, restart := range map[string]bool{"by the process that wrote them": false, "by another process": true} {
		t.Run(name, func(t *testing.T) {
			t.Run("a CA is withdrawn", func(t *testing.T) {
				r, _, _ := certified(t)
				r.maybeRestart(t, restart)
				r.secrets[certRef("ca.crt")] = []byte(file(t, "ca2.crt"))
				r.device.Reset()
				require.Empty(t, r.reconcileFully(t).Skips)
				require.Equal(t, []string{"second"}, trusted(r))
				require.Equal(t, []string{"ipsec reload"}, r.reloads())
				r.requireSettled(t)
			})
			t.Run("the tunnel goes", func(t *testing.T) {
				r, site, _ := certified(t)
				r.maybeRestart(t, restart)
				r.drop(site)
				r.reconcileFully(t)
				noneLeft(t, r)
				r.requireSettled(t)
			})
			t.Run("a key takes their place", func(t *testing.T) {
				r, _, proposal := certified(t)
				r.maybeRestart(t, restart)
				r.put(pskSite("a", "key", "edge", "hub", proposal))
				require.Empty(t, r.reconcileFully(t).Skips)
				noneLeft(t, r)
				require.Equal(t, []string{"edge hub: key"}, loaded(r))
				r.requireSettled(t)
			})
		})
	}
}

func (r *rig) maybeRestart(t *testing.T, yes bool) {
	if yes {
		r.restart(t, "a")
	}
}

// TestPrivateKeys accepts one RSA key and nothing else, because strongSwan loads nothing else.
func TestPrivateKeys(t *testing.T) {
	pkcs1, pkcs8, ec := file(t, "rsa.key"), file(t, "rsa-pkcs8.key"), file(t, "ec.key")
	_, ecAlone, _ := strings.Cut(ec, "-----END EC PARAMETERS-----\n")
	for _, tc := range []struct{ name, key, why string }{
		{"PKCS#1", pkcs1, ""},
		{"PKCS#8", pkcs8, ""},
		{"EC with parameters", ec, "expected one RSA key, found 2 blocks"},
		{"EC", ecAlone, "EC PRIVATE KEY: the device loads only RSA keys"},
		{"two keys", pkcs1 + pkcs8, "expected one RSA key, found 2 blocks"},
		{"a key with its certificate", pkcs1 + testPEM, "expected one RSA key, found 2 blocks"},
		{"a certificate", testPEM, "CERTIFICATE: the device loads only RSA keys"},
		{"nonsense", "-----BEGIN PRIVATE KEY-----\nc2VjcmV0IHByaXZhdGUga2V5IQ==\n-----END PRIVATE KEY-----\n", "the key cannot be parsed"},
	} {
		for _, inSecret := range []bool{true, false} {
			t.Run(tc.name, func(t *testing.T) {
				r := newRig(t)
				proposal := of("IpsecProposal", "p", &intent.Proposal{Encryption: "aes256", Hash: "sha256", DHGroup: "modp4096"})
				site := pubkeySite("a", proposal)
				r.secrets[certRef("tls.crt")] = []byte(testPEM)
				r.secrets[certRef("ca.crt")] = []byte(file(t, "ca1.crt"))
				r.secrets[certRef("tls.key")] = []byte(tc.key)
				if !inSecret {
					site.Spec.(*intent.Tunnel).PrivateKey = intent.SecretValue{Value: intent.Secret(base64.StdEncoding.EncodeToString([]byte(tc.key)))}
				}
				r.put(proposal, site)
				p := r.reconcile(t)
				if tc.why == "" {
					require.Empty(t, p.Skips)
					require.Len(t, r.device.PrivateKeys(), 1)
					return
				}
				require.Contains(t, skipOf(p, site), "private key: ")
				require.Empty(t, r.device.PrivateKeys())
				if inSecret || !strings.Contains(tc.why, "2 blocks") {
					require.Contains(t, skipOf(p, site), tc.why)
				}
			})
		}
	}
}

// TestLeftoverCertificates are those of a tunnel that others deleted: they are overwritten once nothing wants the tunnel.
func TestLeftoverCertificates(t *testing.T) {
	r, site, _ := certified(t)
	name := r.object(t, openwrt.Remotes, "_a").Name()
	require.NoError(t, r.client.Delete(t.Context(), openwrt.Remotes, name))
	r.restart(t, "a")
	r.drop(site)
	r.reconcile(t)
	require.Empty(t, trusted(r))
	require.NotContains(t, r.device.Export("ipsec"), "_parts_")
	r.requireSettled(t)
}

// TestWithdrawalWithoutARecord has a device that lost the record of how many certificates there are.
func TestWithdrawalWithoutARecord(t *testing.T) {
	r, _, _ := certified(t)
	all, err := r.client.List(t.Context(), openwrt.Proposals)
	require.NoError(t, err)
	for _, o := range all {
		if strings.Contains(o.Name(), "_parts_") {
			require.NoError(t, r.client.Delete(t.Context(), openwrt.Proposals, o.Name()))
		}
	}
	r.restart(t, "a")
	r.secrets[certRef("ca.crt")] = []byte(file(t, "ca1.crt"))
	require.Empty(t, r.reconcile(t).Skips)
	require.Equal(t, []string{"first CA"}, trusted(r))
	r.requireSettled(t)
}
