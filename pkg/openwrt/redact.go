package openwrt

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// longestMessage is the limit on a device's message in errors, in bytes: enough for one with a name of any length.
const longestMessage = 600

// secrets are texts that must not leave the client.
type secrets []string

// secretsOf lists the secrets of a canonical object.
func secretsOf(o Object) secrets {
	var out secrets
	for _, v := range o {
		switch v := v.(type) {
		case Secret:
			out = append(out, string(v))
		case []Object:
			for _, inner := range v {
				out = append(out, secretsOf(inner)...)
			}
		}
	}
	return out
}

// hide replaces every secret in text, in every encoding by JSON or the device's serializer, and text that looks like a
// secret.
func (s secrets) hide(text string) string {
	var all []string
	for _, one := range s {
		if one == "" {
			continue
		}
		quoted, _ := json.Marshal(one) // a string can always be encoded
		inner := string(quoted[1 : len(quoted)-1])
		all = append(all, one, inner, strings.ReplaceAll(inner, "/", `\/`))
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // a secret may contain another
	for _, one := range all {
		text = strings.ReplaceAll(text, one, redacted)
	}
	if strings.Contains(text, `"`) { // most texts of a status contain neither, and there are thousands
		text = secretMember().ReplaceAllString(text, `${1}"`+redacted+`"`)
	}
	if strings.Contains(text, "-----BEGIN") {
		text = pemBlock().ReplaceAllString(text, redacted)
	}
	return text
}

// secretMember finds members of JSON whose names mean that their values are secret, also if they are truncated.
func secretMember() *regexp.Regexp {
	return regexp.MustCompile(`(?i)("[^"]*(?:` + secretWords + `)[^"]*"\s*:\s*)"(?:\\.|[^"\\])*"?`)
}

func pemBlock() *regexp.Regexp {
	return regexp.MustCompile(`(?s)-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|$)`)
}

// secretWords are parts of the names of members that are to be hidden.
const secretWords = `pre_shared|psk|secret|passw|private|token|sysauth` //nolint:gosec // These are words, not secrets.

// isSecretName reports whether a member of that name is to be hidden.
func isSecretName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(strings.Split(secretWords, "|"), func(w string) bool { return strings.Contains(name, w) })
}

// message is the message in the body of an answer other than success, without secrets and limited to longestMessage.
func (s secrets) message(code int, body []byte) string {
	text := string(body)
	if inner, ok := strings.CutPrefix(text, `{"message":"`); ok {
		text = strings.TrimSuffix(inner, `"}`) // not quite JSON: the device escapes nothing
	} else if strings.HasPrefix(strings.TrimSpace(text), "<") {
		return "" // an HTML page
	}
	text = s.hide(text)
	if code == 500 {
		text = cause(text)
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) > longestMessage {
		text = strings.ToValidUTF8(text[:longestMessage], "") + "…"
	}
	return text
}

// cause is the line of a script's error output with the reason, without the position: the first one, or the one after the
// web server's announcement.
func cause(text string) string {
	lines := strings.Split(text, "\n")
	line := lines[0]
	for i := range lines {
		if strings.HasPrefix(lines[i], "The called action terminated") && i+1 < len(lines) {
			line = lines[i+1]
			break
		}
	}
	_, why, found := strings.Cut(line, ".lua:")
	if !found {
		return line
	}
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimLeft(why, "0123456789"), ":"))
}

// hideIn replaces secrets in a decoded JSON value.
func (s secrets) hideIn(v any) any {
	switch v := v.(type) {
	case string:
		return s.hide(v)
	case []any:
		for i := range v {
			v[i] = s.hideIn(v[i])
		}
		return v
	case map[string]any:
		for name := range v {
			if _, isText := v[name].(string); isText && isSecretName(name) {
				v[name] = redacted
				continue
			}
			v[name] = s.hideIn(v[name])
		}
		return v
	default:
		return v
	}
}
