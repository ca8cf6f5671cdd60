package openwrt_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// tunnel makes a remote with a pre-shared key and a connection, and reloads ipsec.
func tunnel(t *testing.T, d *simulator.Device, name, key string, more map[string]string) {
	t.Helper()
	o := map[string]any{
		"name": name, "gateway": "10.10.10.35", "authentication_method": "psk", "pre_shared_key": key,
		"connections": []map[string]string{{"name": name + "_c", "conn_type": "tunnel"}},
	}
	for field, text := range more {
		o[field] = text
	}
	body, err := json.Marshal(o)
	require.NoError(t, err)
	must(t, d, "POST", "ipsec/v1/remotes", string(body))
	must(t, d, "PUT", "v1/service/ipsec", `{"action":"reload"}`)
}

// TestKeyIsWrittenAsItIs sees what strongSwan makes of keys of a first tunnel, and whether the second one's key still counts.
func TestKeyIsWrittenAsItIs(t *testing.T) {
	for _, tc := range []struct {
		name, key string
		want      string // "" if none is loaded
		others    bool
	}{
		{"a word", "test_key", "test_key", true},
		{"a blank ends it", "two words", "two", true},
		{"a quote loses every later key", `"quoted`, "", false},
		{"another quote as well", `'quoted`, "", false},
		{"two quotes enclose it", `"two words"`, "two words", true},
		{"a quote within", `a"b`, `a"b`, true},
		{"a line end loses every later key", "two\nlines", "two", false},
		{"base64", "0s" + base64.StdEncoding.EncodeToString([]byte(`"two words`)), `"two words`, true},
		{"hexadecimal", "0x6162", "ab", true},
		{"a comment loses every later key", "#key", "", false},
		{"no comment", "k#ey", "k#ey", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newDevice(t, simulator.Options{})
			tunnel(t, d, "first", tc.key, nil)
			tunnel(t, d, "second", "other", nil)
			var want []simulator.Secret
			if tc.want != "" {
				want = append(want, simulator.Secret{IDs: []string{"10.10.10.15", "10.10.10.35"}, Key: tc.want})
			}
			if tc.others {
				want = append(want, simulator.Secret{IDs: []string{"10.10.10.15", "10.10.10.35"}, Key: "other"})
			}
			require.Equal(t, want, d.Secrets())
			text, fault := d.SecretsFile()
			require.Contains(t, text, "10.10.10.15 10.10.10.35  : PSK "+tc.key+"\n")
			require.Equal(t, tc.others, fault == "", fault)
		})
	}
}

func TestIdentifiersAreWrittenAsTheyAre(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	tunnel(t, d, "words", "a", map[string]string{"local_identifier": "C=US, CN=edge", "remote_identifier": "hub"})
	tunnel(t, d, "off", "b", map[string]string{"enabled": "0"})
	require.Equal(t, []simulator.Secret{{IDs: []string{"C=US,", "CN=edge", "hub"}, Key: "a"}}, d.Secrets())
	tunnel(t, d, "quote", "c", map[string]string{"local_identifier": `"edge`})
	tunnel(t, d, "later", "d", nil)
	require.Len(t, d.Secrets(), 1, "a quote that nothing ends")
	must(t, d, "PUT", "v1/service/ipsec", `{"action":"stop"}`)
	require.Empty(t, d.Secrets())
}

// TestIdentifiersWithoutConnections sees the identifiers of a remote without connections begin the line of the next one.
func TestIdentifiersWithoutConnections(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	must(t, d, "POST", "ipsec/v1/remotes", `{"name":"bare","gateway":"10.10.20.9","authentication_method":"psk","pre_shared_key":"k"}`)
	must(t, d, "POST", "ipsec/v1/remotes", `{"name":"two","gateway":"any","authentication_method":"psk","pre_shared_key":"k",
		"connections":[{"name":"a","conn_type":"tunnel"},{"name":"b","conn_type":"transport"}]}`)
	must(t, d, "PUT", "v1/service/ipsec", `{"action":"restart"}`)
	require.Equal(t, []simulator.Secret{
		{IDs: []string{"10.10.20.15", "10.10.20.9", "10.10.10.15", "%any"}, Key: "k"},
		{IDs: []string{"%any"}, Key: "k"}, // a second connection names nobody
	}, d.Secrets())
	require.Equal(t, 1, d.Reloads("ipsec"))
	require.Zero(t, d.Reloads("firewall"))
}

// newAuthority makes a certificate of an authority in PEM.
func newAuthority(t *testing.T, name string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// chain is parts as a remote's field has them.
func chain(parts ...string) string {
	for i := range parts {
		parts[i] = base64.StdEncoding.EncodeToString([]byte(parts[i]))
	}
	return strings.Join(parts, "___")
}

// setCredentials puts a remote with certificates and reloads ipsec.
func setCredentials(t *testing.T, d *simulator.Device, public, private, ca string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"authentication_method": "pubkey", "local_public_cert": public, "local_private_cert": private, "shared_ca": ca,
		"connections": []map[string]string{{"name": "c", "conn_type": "tunnel"}},
	})
	require.NoError(t, err)
	must(t, d, "PUT", "ipsec/v1/remotes/hub", string(body))
	must(t, d, "PUT", "v1/service/ipsec", `{"action":"restart"}`)
}

// TestWithdrawnAuthoritiesStay shortens a chain and deletes its remote.
func TestWithdrawnAuthoritiesStay(t *testing.T) {
	d := newDevice(t, simulator.Options{})
	first, second, third := newAuthority(t, "first"), newAuthority(t, "second"), newAuthority(t, "third")
	trusted := func() []string {
		var names []string
		for _, c := range d.TrustedCAs() {
			names = append(names, c.Subject.CommonName)
		}
		return names
	}
	setCredentials(t, d, chain(first), chain("key of nothing"), chain(first, second, third))
	require.Equal(t, []string{"first", "second", "third"}, trusted())
	setCredentials(t, d, chain(first), chain("key of nothing"), chain(first))
	require.Equal(t, []string{"first", "second", "third"}, trusted(), "the files of the others stay")
	setCredentials(t, d, chain(first), chain("key of nothing"), chain(first, "nothing to trust", first))
	require.Equal(t, []string{"first", "first"}, trusted(), "unless something else is written into them")
	must(t, d, "DELETE", "ipsec/v1/remotes/hub", "")
	must(t, d, "PUT", "v1/service/ipsec", `{"action":"restart"}`)
	require.Equal(t, []string{"first"}, trusted(), "only the first file goes with its remote")
	require.Equal(t, map[string]string{
		"/etc/ipsec.d/cacerts/hub_ca_1.pem": "nothing to trust",
		"/etc/ipsec.d/cacerts/hub_ca_2.pem": first,
	}, d.Files())
	d.Restart()
	require.Empty(t, d.Files(), "the files are the container's")
}

// TestOnlyOneRSAKeyLoads tries private keys.
func TestOnlyOneRSAKeyLoads(t *testing.T) {
	block := func(kind string, der []byte, err error) string {
		require.NoError(t, err)
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	pkcs1 := block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsaKey), nil)
	der, err := x509.MarshalPKCS8PrivateKey(rsaKey)
	pkcs8 := block("PRIVATE KEY", der, err)
	der, err = x509.MarshalECPrivateKey(ecKey)
	ec := block("EC PRIVATE KEY", der, err)
	der, err = x509.MarshalPKCS8PrivateKey(ecKey)
	ec8 := block("PRIVATE KEY", der, err)
	for name, tc := range map[string]struct {
		parts []string
		want  bool
	}{
		"PKCS#1": {[]string{pkcs1}, true}, "PKCS#8": {[]string{pkcs8}, true}, "EC": {[]string{ec}, false}, "EC in PKCS#8": {[]string{ec8}, false},
		"two files": {[]string{pkcs1, pkcs8}, false}, "two blocks": {[]string{ec + pkcs1}, false}, "no key": {[]string{"nothing"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDevice(t, simulator.Options{})
			setCredentials(t, d, chain("a certificate"), chain(tc.parts...), chain("an authority"))
			if tc.want {
				require.Equal(t, []string{"/etc/ipsec.d/private/hub_private_0.pem"}, d.PrivateKeys())
			} else {
				require.Empty(t, d.PrivateKeys())
			}
			require.Empty(t, d.TrustedCAs())
		})
	}
}
