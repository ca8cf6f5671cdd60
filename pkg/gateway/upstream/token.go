package upstream

import (
	"bytes"
	"encoding/base64"
	"errors"
	"regexp"
)

// token is what a bearer token is made of (RFC 6750, section 2.1).
var token = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

// checkToken reports what is wrong with a bearer token as decoded from base64. No fault contains any of it.
func checkToken(decoded []byte) error {
	const write = `: write printf %s "$TOKEN" | base64 -w0`
	switch trimmed := bytes.TrimRight(decoded, " \t\r\n"); {
	case len(decoded) == 0:
		return nil
	case !token.Match(trimmed): // such as a plain token that happens to be in the alphabet of base64
		return errors.New("it is not the base64 of a token, but perhaps the token itself" + write)
	case len(trimmed) < len(decoded):
		return errors.New("the token ends with a line end or space" + write)
	case jwt.Match(decoded):
		return nil
	}
	if again, err := base64.StdEncoding.DecodeString(string(decoded)); err == nil && jwt.Match(again) {
		return errors.New("the token is in base64 twice" + write)
	}
	return nil
}

// jwt is a JSON Web Token, such as those of service accounts.
var jwt = regexp.MustCompile(`^eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$`)
