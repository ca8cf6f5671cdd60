package openwrt

import (
	"encoding/binary"
	"maps"
	"strings"
)

// credential is a field of a remote with certificates or keys, and where the device stores them.
type credential struct {
	field, directory, word string
}

func credentials() []credential {
	return []credential{
		{"local_public_cert", "/etc/ipsec.d/certs/", "_public_"},
		{"local_private_cert", "/etc/ipsec.d/private/", "_private_"},
		{"shared_ca", authorities, "_ca_"},
	}
}

// authorities is the directory of which strongSwan trusts every certificate.
const authorities = "/etc/ipsec.d/cacerts/"

// saveCredentials decodes the parts of text into files, numbered from 0, and lists their paths. Files with higher numbers
// stay.
func (d *Device) saveCredentials(script, name, text string, kind credential) (string, *refusal) {
	var paths []string
	for i, part := range parts(text, "_^") {
		path := kind.directory + name + kind.word + itoa(i) + ".pem"
		d.files[path] = unbase64(part)
		if d.files[path] == "" {
			return "", fault(script, "bad argument #1 to 'write' (string expected, got nil)")
		}
		paths = append(paths, path)
	}
	return strings.Join(paths, ", "), nil
}

// showCredentials is what the device shows of a list of paths: the files' contents, decoded a second time; nil for nothing.
// Paths after the first begin with a blank and so match no file: they are decoded themselves.
func (d *Device) showCredentials(script string, paths *option) (*string, *refusal) {
	switch {
	case paths == nil:
		return nil, nil
	case paths.list:
		return nil, fault(script, "bad argument #1 to 'gmatch' (string expected, got table)")
	}
	var shown *string
	for i, path := range parts(paths.values[0], ",^") {
		content, found := d.files[path]
		if !found {
			content = path
		}
		text := unbase64(content)
		switch {
		case i == 0 && text != "":
			shown = &text
		case i > 0 && (shown == nil || text == ""):
			return nil, fault(script, "attempt to concatenate a nil value")
		case i > 0:
			all := *shown + "\n" + text
			shown = &all
		}
	}
	return shown, nil
}

// unbase64 decodes as the device does: other characters are skipped, an equals sign counts as one of four, and of the last
// characters that are less than four nothing remains.
func unbase64(s string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	var out []byte
	var quad []byte
	for _, c := range []byte(s) {
		if c != '=' && strings.IndexByte(alphabet, c) < 0 {
			continue
		}
		if quad = append(quad, c); len(quad) < 4 {
			continue
		}
		var bits uint32
		for _, c := range quad {
			bits <<= 6
			if c != '=' {
				bits |= uint32(strings.IndexByte(alphabet, c)) //nolint:gosec // at most 63
			}
		}
		three := binary.BigEndian.AppendUint32(nil, bits)[1:]
		switch {
		case quad[2] == '=':
			three = three[:1]
		case quad[3] == '=':
			three = three[:2]
		}
		out, quad = append(out, three...), quad[:0]
	}
	return string(out)
}

// Files lists the files with certificates and keys that are on the device, by path.
func (d *Device) Files() map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.files)
}
