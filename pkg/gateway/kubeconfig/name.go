package kubeconfig

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strings"
)

// maxLabel is the length of a part of a DNS name.
const maxLabel = 63

// names returns the name of the UpstreamCluster for each context: the name of the context, as far as it is a DNS name. Names that would
// be equal end in a digest, so that the name of a context does not depend on the order of the others.
func names(contexts []string) map[string]string {
	out, taken := map[string]string{}, map[string]int{}
	for _, context := range contexts {
		out[context] = dnsName(context)
		taken[out[context]]++
	}
	for context, name := range out {
		if taken[name] > 1 && name != context {
			out[context] = withDigest(name, context)
		}
	}
	return out
}

// dnsName makes a DNS name of a text: lower case, with dashes for other characters. The name of an address would not be sent as the
// server name of TLS, so it gets a prefix.
func dnsName(text string) string {
	var labels []string
	for label := range strings.SplitSeq(strings.ToLower(text), ".") {
		label = strings.Trim(strings.Map(func(r rune) rune {
			if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
				return r
			}
			return '-'
		}, label), "-")
		if len(label) > maxLabel {
			label = withDigest(label, text)
		}
		if label != "" {
			labels = append(labels, label)
		}
	}
	name := strings.Join(labels, ".")
	if _, err := netip.ParseAddr(name); err == nil {
		name = "context-" + strings.ReplaceAll(name, ".", "-")
	}
	if name == "" || len(name) > 253 {
		name = withDigest("context", text)
	}
	return name
}

// withDigest ends a DNS name with a digest of a text.
func withDigest(name, text string) string {
	sum := sha256.Sum256([]byte(text))
	digest := "-" + hex.EncodeToString(sum[:4])
	last := strings.LastIndexByte(name, '.') + 1
	return name[:last] + strings.TrimRight(name[last:min(len(name), last+maxLabel-len(digest))], "-") + digest
}
