package sdwan

import (
	"fmt"
	"regexp"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
)

// The format of IPsec values: characters that would end a value in a file of strongSwan are rejected.
var (
	ipsecTextPattern  = regexp.MustCompile(`^[^"\x00-\x1f]*$`)
	ipsecMarkPattern  = regexp.MustCompile(`^(%unique(-dir)?|(0[xX][0-9A-Fa-f]{1,8}|[0-9]{1,10})(/(0[xX][0-9A-Fa-f]{1,8}|[0-9]{1,10}))?)$`)
	certPattern       = regexp.MustCompile(`^[A-Za-z0-9+/=_^]*$`)
	encryptionPattern = regexp.MustCompile(`^(3des|cast128|blowfish(128|192|256)?|null|(aes|camellia)(128|192|256)?|` +
		`(aes|camellia)(128|192|256)(ctr|ccm(8|64|12|96|16|128))|aes(128|192|256)gcm(8|64|12|96|16|128)|chacha20poly1305)$`)
	secretNamePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
	secretKeyPattern  = regexp.MustCompile(`^[A-Za-z0-9._-]*$`)
)

func (e *translation) readProposal(s *v1alpha1.IpsecProposalSpec) {
	e.setOnlyPart(&intent.Proposal{
		Encryption: e.text("spec.encryption_algorithm", s.EncryptionAlgorithm, encryptionPattern,
			"an encryption algorithm such as aes256, aes256ctr, aes256gcm16 or chacha20poly1305"),
		Hash: e.word("spec.hash_algorithm", s.HashAlgorithm, "md5", "sha", "sha1", "aesxcbc", "sha256", "sha2_256", "sha384",
			"sha2_384", "sha512", "sha2_512", "sha256_96", "sha2_256_96"),
		DHGroup: e.word("spec.dh_group", s.DHGroup, "modp768", "modp1024", "modp1536", "modp2048", "modp3072", "modp4096",
			"modp6144", "modp8192", "modp1024s160", "modp2048s224", "modp2048s256", "ecp192", "ecp224", "ecp256", "ecp384",
			"ecp521", "ecp224bp", "ecp256bp", "ecp384bp", "ecp512bp", "curve25519", "x25519", "curve448", "x448"),
	})
}

func (e *translation) readSite(s *v1alpha1.IpsecSiteSpec) {
	t := e.tunnel(&s.IpsecPeer, len(s.Connections))
	for i := range s.Connections {
		c := e.connection(t, i, &s.Connections[i].IpsecConnection)
		c.LocalSubnet = e.line(fmt.Sprintf("spec.connections[%d].local_subnet", i), s.Connections[i].LocalSubnet)
		t.Connections = append(t.Connections, c)
	}
	e.setOnlyPart(t)
}

func (e *translation) readHost(s *v1alpha1.IpsecHostSpec) {
	t := e.tunnel(&s.IpsecPeer, len(s.Connections))
	for i := range s.Connections {
		c := e.connection(t, i, &s.Connections[i].IpsecConnection)
		c.LocalSource = e.line(fmt.Sprintf("spec.connections[%d].local_sourceip", i), s.Connections[i].LocalSourceIP)
		t.Connections = append(t.Connections, c)
	}
	e.setOnlyPart(t)
}

// tunnel returns a peer without its connections.
func (e *translation) tunnel(s *v1alpha1.IpsecPeer, connections int) *intent.Tunnel {
	e.need("spec.remote", s.Remote != "", "the address or DNS name of the peer, or %any")
	e.need("spec.crypto_proposal", len(s.CryptoProposal) > 0, "at least one proposal")
	e.need("spec.connections", connections > 0, "at least one connection")
	t := &intent.Tunnel{
		Type:           e.word("spec.type", s.Type, "VTI-based", "policy-based"),
		Remote:         e.line("spec.remote", s.Remote),
		LocalID:        e.line("spec.local_identifier", s.LocalIdentifier),
		RemoteID:       e.line("spec.remote_identifier", s.RemoteIdentifier),
		Proposals:      e.proposals("spec.crypto_proposal", s.CryptoProposal),
		ForceProposals: e.flag("spec.force_crypto_proposal", string(s.ForceCryptoProposal)),
	}
	e.authenticate(t, s)
	return t
}

// authenticate reads the secrets. Those of the method that is not used are only checked.
func (e *translation) authenticate(t *intent.Tunnel, s *v1alpha1.IpsecPeer) {
	const base64 = "a PEM file in base64; several are joined with three underscores"
	key := e.secret("spec.pre_shared_key", s.PreSharedKey, s.PreSharedKeySecret, v1alpha1.DefaultPreSharedKey,
		ipsecTextPattern, "a single line without quotation marks")
	certificate := e.secret("spec.local_public_cert", string(s.LocalPublicCert), s.LocalPublicCertSecret,
		v1alpha1.DefaultPublicCert, certPattern, base64)
	private := e.secret("spec.local_private_cert", s.LocalPrivateCert, s.LocalPrivateCertSecret,
		v1alpha1.DefaultPrivateCert, certPattern, base64)
	ca := e.secret("spec.shared_ca", string(s.SharedCA), s.SharedCASecret, v1alpha1.DefaultSharedCA, certPattern, base64)

	switch s.AuthenticationMethod {
	case v1alpha1.AuthenticationPSK:
		e.need("spec.pre_shared_key_secret", key.Set(), "pre_shared_key_secret or pre_shared_key with psk")
		t.Authentication, t.Key = intent.PreSharedKey, key
	case v1alpha1.AuthenticationPublicKey:
		e.need("spec.local_public_cert_secret", certificate.Set(), "local_public_cert_secret or local_public_cert with pubkey")
		e.need("spec.local_private_cert_secret", private.Set(), "local_private_cert_secret or local_private_cert with pubkey")
		e.need("spec.shared_ca_secret", ca.Set(), "shared_ca_secret or shared_ca with pubkey")
		t.Authentication, t.Certificate, t.PrivateKey, t.CA = intent.PublicKey, certificate, private, ca
	default:
		e.refuse("spec.authentication_method", "%q: expected psk or pubkey", s.AuthenticationMethod)
	}
}

// secret returns a value in plain text, or where to find it. The value never appears in a problem.
func (e *translation) secret(field, plain string, ref *v1alpha1.SecretReference, usual string,
	pattern *regexp.Regexp, expected string,
) intent.SecretValue {
	if plain != "" && !pattern.MatchString(plain) {
		e.refuse(field, "expected %s", expected)
	}
	if ref == nil {
		return intent.SecretValue{Value: intent.Secret(plain)}
	}
	if plain != "" {
		e.refuse(field, "not allowed together with %s_secret", field)
	}
	at := field + "_secret"
	e.matches(at+".name", ref.Name, secretNamePattern, "the name of a Secret")
	e.matches(at+".key", ref.Key, secretKeyPattern, "a key of a Secret")
	key := ref.Key
	if key == "" {
		key = usual
	}
	return intent.SecretValue{From: intent.SecretRef{Namespace: e.object.GetNamespace(), Name: ref.Name, Key: key}}
}

// connection returns what connections of sites and hosts have in common.
func (e *translation) connection(of *intent.Tunnel, i int, s *v1alpha1.IpsecConnection) intent.Connection {
	field := func(name string) string { return fmt.Sprintf("spec.connections[%d].%s", i, name) }
	name := string(s.Name)
	e.matches(field("name"), name, referencePattern, "a name of letters, digits, _, - or ., not starting or ending with - or .")
	for j := range of.Connections {
		if of.Connections[j].Name == name {
			e.refuse(field("name"), "%q: expected each name once", name)
		}
	}
	e.need(field("conn_type"), s.ConnType != "", "tunnel or transport")
	return intent.Connection{
		Name:           name,
		Transport:      e.word(field("conn_type"), s.ConnType, "tunnel", "transport") == "transport",
		Start:          e.word(field("mode"), s.Mode, "start", "add", "route"),
		LocalUpDown:    e.line(field("local_updown"), s.LocalUpDown),
		LocalFirewall:  e.word(field("local_firewall"), string(s.LocalFirewall), "yes", "no"),
		RemoteSubnet:   e.line(field("remote_subnet"), s.RemoteSubnet),
		RemoteSource:   e.line(field("remote_sourceip"), s.RemoteSourceIP),
		RemoteUpDown:   e.line(field("remote_updown"), s.RemoteUpDown),
		RemoteFirewall: e.word(field("remote_firewall"), string(s.RemoteFirewall), "yes", "no"),
		Proposals:      e.proposals(field("crypto_proposal"), s.CryptoProposal),
		Mark:           e.text(field("mark"), string(s.Mark), ipsecMarkPattern, "a mark such as 42, 0x2a/0xff or %unique"),
	}
}

func (e *translation) proposals(field string, names []v1alpha1.Reference) []intent.DeviceRef {
	var out []intent.DeviceRef
	for i, n := range names {
		at := fmt.Sprintf("%s[%d]", field, i)
		e.need(at, n != "", "the name of a proposal")
		out = append(out, e.refer(at, string(n)))
	}
	return out
}

// line returns a text for the configuration of IPsec.
func (e *translation) line(field string, text v1alpha1.IpsecText) string {
	return e.text(field, string(text), ipsecTextPattern, "a single line without quotation marks")
}
