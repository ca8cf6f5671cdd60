package identity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

const (
	impersonate    = "Impersonate-"
	remote         = "X-Remote-"
	protocols      = "Sec-Websocket-Protocol"
	protocolBearer = "base64url.bearer.authorization.k8s.io." //nolint:gosec // a prefix, not a token
)

// ErrUnspeakable means that a user cannot be written into headers without becoming another one.
var ErrUnspeakable = errors.New("the user cannot be forwarded")

// Strip removes everything from a header that says who sends the request.
func Strip(header http.Header) {
	header.Del("Authorization")
	for name := range header {
		if strings.HasPrefix(name, impersonate) || strings.HasPrefix(name, remote) {
			delete(header, name)
		}
	}
	if _, ok := header[protocols]; !ok {
		return
	}
	var kept []string
	for _, line := range header[protocols] {
		for protocol := range strings.SplitSeq(line, ",") {
			if protocol = strings.TrimSpace(protocol); !strings.HasPrefix(protocol, protocolBearer) {
				kept = append(kept, protocol)
			}
		}
	}
	header.Set(protocols, strings.Join(kept, ", "))
}

// Asked returns the headers in which a client asks to impersonate someone.
func Asked(header http.Header) http.Header {
	out := http.Header{}
	for name, values := range header {
		if strings.HasPrefix(name, impersonate) {
			out[name] = values
		}
	}
	return out
}

// Impersonation returns the headers that have the cluster treat a request with this context as who's, if they are added to stripped ones.
// They are not to be changed.
func Impersonation(ctx context.Context, who user.Info) (http.Header, error) {
	of, _ := ctx.Value(connectionKey{}).(*connection)
	if known := of.headers(who); known != nil {
		return known, nil
	}
	header := http.Header{}
	return header, impersonateAs(header, who)
}

// impersonateAs adds those of a user.
func impersonateAs(header http.Header, who user.Info) error {
	add := func(name, value string) error {
		if value == "" || value != strings.Trim(value, " \t") || !httpguts.ValidHeaderFieldValue(value) {
			return fmt.Errorf("%w: %s would be %q", ErrUnspeakable, name, value)
		}
		header[name] = append(header[name], value) // names are in canonical form
		return nil
	}
	faults := []error{add(authenticationv1.ImpersonateUserHeader, who.GetName())}
	if uid := who.GetUID(); uid != "" {
		faults = append(faults, add(authenticationv1.ImpersonateUIDHeader, uid))
	}
	for _, group := range sentGroups(who) {
		faults = append(faults, add(authenticationv1.ImpersonateGroupHeader, group))
	}
	for key, values := range who.GetExtra() {
		name := http.CanonicalHeaderKey(authenticationv1.ImpersonateUserExtraHeaderPrefix + escape(key))
		for _, value := range values {
			faults = append(faults, add(name, value))
		}
	}
	return errors.Join(faults...)
}

// sentGroups leaves out the groups that an API server adds itself, so that the gateway needs no right to impersonate them.
func sentGroups(who user.Info) []string {
	groups := who.GetGroups()
	if slices.Contains(groups, user.AllUnauthenticated) {
		return groups
	}
	groups = slices.DeleteFunc(slices.Clone(groups), func(g string) bool { return g == user.AllAuthenticated })
	if namespace, _, err := serviceaccount.SplitUsername(who.GetName()); err == nil && slices.Equal(groups, serviceaccount.MakeGroupNames(namespace)) {
		return nil
	}
	return groups
}

// escape writes the key of an extra value so that it survives as part of a header's name, which has no upper case.
func escape(key string) string {
	var out strings.Builder
	for i := range len(key) {
		if c := key[i]; 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("-_.!#$&'*+^`|~", c) >= 0 {
			out.WriteByte(c)
		} else {
			const digits = "0123456789abcdef"
			out.WriteByte('%')
			out.WriteByte(digits[c>>4])
			out.WriteByte(digits[c&15])
		}
	}
	return out.String()
}
