package simulator

import (
	"encoding/base64"
	"slices"
	"strings"
)

// ipsecCollections are proposals and remotes.
func ipsecCollections() []*collection {
	proposal := known("Proposal", func(d *Device, name string) bool { return d.pkg("ipsec").find("proposal", name) != nil })
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
			whole: secretsWhole, create: createRemote, load: loadRemote, gone: dropConnections,
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

// certificates are the fields that hold certificates, with the place and the word of their files.
func certificates() [][3]string {
	return [][3]string{
		{"local_public_cert", "/etc/ipsec.d/certs/", "_public_"},
		{"local_private_cert", "/etc/ipsec.d/private/", "_private_"},
		{"shared_ca", "/etc/ipsec.d/cacerts/", "_ca_"},
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
	return slices.ContainsFunc(d.pkg("ipsec").sections, func(s *section) bool {
		return slices.Contains([]string{"remote", "tunnel", "transport"}, s.typ) && slices.Contains(s.items("crypto_proposal"), name)
	})
}

// createRemote stores a remote, its certificates as files, and a section for each connection. A remote with a type is
// committed before it is complete, because the global switches of its type are.
func createRemote(d *Device, c *collection, o object) *refusal {
	t := d.begin(c.pkg)
	name := o.text("name")
	if t.exists(name) {
		t.revert()
		return refuse(409, "Conflict")
	}
	s := t.add(c.typ, name, true)
	if o.has("type") {
		setGlobals(t, o.text("type"))
		t.commit()
	}
	files := o
	for _, cert := range certificates() {
		if text := o.text(cert[0]); text != "" {
			files = withField(files, cert[0], d.saveCertificates(name, text, cert))
		}
	}
	keep(s, c.fields, files, false)
	connections, _ := o["connections"].([]object)
	for _, kind := range []string{"tunnel", "transport"} {
		var names []string
		for _, conn := range connections {
			if conn.text("conn_type") != kind {
				continue // without a type a connection is lost
			}
			id := conn.text("name")
			if t.exists(id) {
				t.revert()
				return refuse(409, "Conflict")
			}
			made := t.add(kind, id, true)
			keep(made, connectionFields(field{name: "crypto_proposal"}), withField(conn, "conn_type", nil), false)
			names = append(names, id)
		}
		s.setList(kind, names)
	}
	t.commit()
	return nil
}

func withField(o object, name string, v any) object {
	c := object{}
	for k, old := range o {
		c[k] = old
	}
	c[name] = v
	return c
}

// setGlobals writes the settings for the type of a remote into the first section of type ipsec.
func setGlobals(t *tx, kind string) {
	i := slices.IndexFunc(t.work, func(s *section) bool { return s.typ == "ipsec" })
	if i < 0 {
		return
	}
	vip := "1"
	if kind == "VTI-based" {
		vip = "0"
	}
	changed := *t.work[i]
	changed.options = slices.Clone(changed.options)
	changed.set("rtinstall_enabled", "0")
	changed.set("vip_enabled", vip)
	t.replace(t.work[i], &changed)
}

// saveCertificates decodes the certificates in text into files and lists their paths.
func (d *Device) saveCertificates(name, text string, cert [3]string) string {
	var paths []string
	for i, one := range parts(text, "_^") {
		path := cert[1] + name + cert[2] + itoa(i) + ".pem"
		d.files[path] = decodeBase64(one)
		paths = append(paths, path)
	}
	return strings.Join(paths, ", ")
}

// loadRemote reads a remote and its connections, tunnels first. Certificates are decoded a second time. It is nil if a
// file is too short for that.
func loadRemote(d *Device, c *collection, s *section) object {
	o := read(s, c.fields)
	for _, cert := range certificates() {
		paths, ok := s.value(cert[0])
		if !ok {
			continue
		}
		var texts []string
		for _, path := range parts(paths, ",^") {
			content, found := d.files[path] // paths after the first begin with a space, and so match no file
			if !found {
				content = path
			}
			if len(content) < 4 {
				return nil
			}
			texts = append(texts, decodeBase64(content))
		}
		o[cert[0]] = strings.Join(texts, "\n")
	}
	var connections []object
	for _, kind := range []string{"tunnel", "transport"} {
		for _, name := range s.items(kind) {
			if made := d.pkg("ipsec").byID(name); made != nil && made.typ == kind {
				conn := read(made, connectionFields(field{name: "crypto_proposal", list: true}))
				conn["conn_type"] = kind
				connections = append(connections, conn)
			}
		}
	}
	if connections != nil {
		o["connections"] = connections
	}
	return o
}

// dropConnections deletes what belongs to a remote: the sections of its connections, and the first file of each list
// of certificates.
func dropConnections(d *Device, t *tx, o object) {
	connections, _ := o["connections"].([]object)
	t.remove(func(s *section) bool {
		return slices.ContainsFunc(connections, func(c object) bool { return s.typ == c.text("conn_type") && s.called(c.text("name")) })
	})
	for _, cert := range certificates() {
		if s := d.pkg("ipsec").find("remote", o.text("name")); s != nil {
			first, _, _ := strings.Cut(s.text(cert[0]), ",")
			delete(d.files, first)
		}
	}
}

// decodeBase64 decodes as the device does: characters that are not base64 are skipped.
func decodeBase64(s string) string {
	alphabet := "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	clean := strings.Map(func(r rune) rune {
		if strings.ContainsRune(alphabet, r) {
			return r
		}
		return -1
	}, s)
	if len(clean)%4 == 1 {
		clean = clean[:len(clean)-1] // a single character is not a byte
	}
	out, err := base64.RawStdEncoding.DecodeString(clean)
	if err != nil {
		return ""
	}
	return string(out)
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
