package openwrt

import (
	"slices"
	"strings"
)

// ipsecCollections are proposals and remotes.
func ipsecCollections() []*collection {
	proposal := known("Proposal", func(d *Device, name string) bool { return d.find("ipsec", "proposal", name) != nil })
	proposals := field{
		name: "crypto_proposal", item: proposal, list: true, message: "invalid crypto_proposal", code: "428",
	}
	return []*collection{
		{
			module: "ipsec", plural: "proposals", singular: "proposal", pkg: "ipsec", typ: "proposal", named: true, script: "ipsec_rest",
			used: proposalUsed,
			fields: []field{
				{name: "name"},
				{name: "encryption_algorithm", check: oneOf(ciphers()...), message: "invalid encryption_algorithm"},
				{name: "hash_algorithm", check: oneOf(hashes()...), message: "invalid hash_algorithm"},
				{name: "dh_group", check: oneOf(groups()...), message: "invalid dh_group"},
			},
		},
		{
			module: "ipsec", plural: "remotes", singular: "remote", pkg: "ipsec", typ: "remote", named: true, script: "ipsec_rest",
			whole: secretsWhole, create: createRemote, load: loadRemote, gone: dropRemote,
			fields: []field{
				{name: "name"},
				{name: "type"},
				{name: "gateway"},
				{name: "enabled", without: "1"},
				{name: "authentication_method", check: oneOf("psk", "pubkey")},
				{name: "pre_shared_key"},
				{name: "local_identifier"},
				{name: "remote_identifier"},
				proposals,
				{name: "force_crypto_proposal", check: oneOf("0", "1"), message: "invalid input for ForceCryptoProposal"},
				{name: "local_public_cert"},
				{name: "local_private_cert"},
				{name: "shared_ca"},
				{name: "connections", items: connectionFields(proposals), message: "invalid connection"},
			},
		},
	}
}

func connectionFields(proposals field) []field {
	yesNo := oneOf("yes", "no")
	return []field{
		{name: "name"},
		{name: "conn_type", check: oneOf("tunnel", "transport"), message: "invalid type"},
		{name: "mode", check: oneOf("start", "add", "route"), message: "invalid connection mode"},
		{name: "local_subnet"},
		{name: "local_nat"},
		{name: "local_sourceip"},
		{name: "local_updown"},
		{name: "local_firewall", check: yesNo},
		{name: "remote_subnet"},
		{name: "remote_sourceip"},
		{name: "remote_updown"},
		{name: "remote_firewall", check: yesNo},
		proposals,
		{name: "mark"}, // if_id is not among them
	}
}

func secretsWhole(_ *Device, o object) *refusal {
	method := o.text("authentication_method")
	switch {
	case method != "psk" && method != "pubkey":
		return refuse(400, "Invalid authentication method")
	case method == "psk" && o.has("pre_shared_key"),
		method == "pubkey" && o.has("local_public_cert") && o.has("local_private_cert") && o.has("shared_ca"):
		return nil
	default:
		return refuse(400, "Secret does not exists for the authentication method: %s", method)
	}
}

func proposalUsed(d *Device, name string) bool {
	return slices.ContainsFunc(d.ofType("ipsec", "remote", "tunnel", "transport"), func(s *section) bool {
		return slices.Contains(s.items("crypto_proposal"), name)
	})
}

func ciphers() []string {
	out := strings.Fields("3des cast128 blowfish blowfish128 blowfish192 blowfish256 null aes aes128 aes192 aes256 " +
		"camellia camellia128 camellia192 camellia256 chacha20poly1305")
	for _, size := range []string{"128", "192", "256"} {
		out = append(out, "aes"+size+"ctr", "camellia"+size+"ctr")
		for _, tag := range []string{"8", "64", "12", "96", "16", "128"} {
			out = append(out, "aes"+size+"ccm"+tag, "aes"+size+"gcm"+tag, "camellia"+size+"ccm"+tag)
		}
	}
	return out
}

func hashes() []string {
	return strings.Fields("md5 sha sha1 aesxcbc sha256 sha2_256 sha384 sha2_384 sha512 sha2_512 sha256_96 sha2_256_96")
}

func groups() []string {
	return strings.Fields("modp768 modp1024 modp1536 modp2048 modp3072 modp4096 modp6144 modp8192 modp1024s160 modp2048s224 " +
		"modp2048s256 ecp192 ecp224 ecp256 ecp384 ecp521 ecp224bp ecp256bp ecp384bp ecp512bp curve25519 x25519 curve448 x448")
}
