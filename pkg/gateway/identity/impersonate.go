package identity

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Errors of requests that ask to impersonate someone.
var (
	// ErrBadImpersonation means that the headers make no sense.
	ErrBadImpersonation = errors.New("invalid impersonation")
	// ErrForbidden means that the requester may not impersonate.
	ErrForbidden = errors.New("forbidden")
)

// maxImpersonated limits how much one request may ask for: each item is an access review.
const maxImpersonated = 128

// Effective returns the user whose rights a request has: the requester, or whom it asks to impersonate if the cluster allows
// it. Every user, service account, group, uid and extra value is authorized on its own, as an API server does.
func Effective(ctx context.Context, access authorizer.Authorizer, requester user.Info, header http.Header) (user.Info, error) {
	wanted, reviews, err := asked(header)
	if err != nil || wanted == nil {
		return requester, err
	}
	for _, a := range reviews {
		a.User, a.Verb, a.ResourceRequest = requester, "impersonate", true
		decision, reason, err := access.Authorize(ctx, a)
		if err != nil {
			return nil, err
		}
		if decision != authorizer.DecisionAllow {
			return nil, fmt.Errorf("%w: user %q cannot impersonate %s %q: %s", ErrForbidden, requester.GetName(), a.Resource, a.Name, reason)
		}
	}
	return wanted, nil
}

// asked returns whom the headers ask to impersonate, and what must be allowed for it; nil if they do not ask.
func asked(header http.Header) (*user.DefaultInfo, []*authorizer.AttributesRecord, error) {
	who := &user.DefaultInfo{
		Name: header.Get(authenticationv1.ImpersonateUserHeader), UID: header.Get(authenticationv1.ImpersonateUIDHeader),
		Groups: slices.Clone(header[authenticationv1.ImpersonateGroupHeader]), Extra: askedExtra(header),
	}
	if who.Name == "" {
		for name := range header {
			if strings.HasPrefix(name, impersonate) {
				return nil, nil, fmt.Errorf("%w: %s without a user", ErrBadImpersonation, name)
			}
		}
		return nil, nil, nil
	}
	for name := range header {
		if strings.HasPrefix(name, impersonate) && !isImpersonation(name) {
			return nil, nil, fmt.Errorf("%w: unknown header %s", ErrBadImpersonation, name)
		}
	}
	reviews := []*authorizer.AttributesRecord{{APIVersion: "v1", Resource: "users", Name: who.Name}}
	namespace, name, err := serviceaccount.SplitUsername(who.Name)
	account := err == nil
	if account {
		reviews[0] = &authorizer.AttributesRecord{APIVersion: "v1", Resource: "serviceaccounts", Namespace: namespace, Name: name}
	}
	for _, group := range who.Groups {
		reviews = append(reviews, &authorizer.AttributesRecord{APIVersion: "v1", Resource: "groups", Name: group})
	}
	authentication := func(resource, subresource, name string) {
		reviews = append(reviews, &authorizer.AttributesRecord{
			APIGroup: authenticationv1.GroupName, APIVersion: "v1", Resource: resource, Subresource: subresource, Name: name,
		})
	}
	if who.UID != "" {
		authentication("uids", "", who.UID)
	}
	for _, key := range slices.Sorted(maps.Keys(who.Extra)) {
		for _, value := range who.Extra[key] {
			authentication("userextras", key, value)
		}
	}
	if len(reviews) > maxImpersonated {
		return nil, nil, fmt.Errorf("%w: more than %d users, groups and extra values", ErrBadImpersonation, maxImpersonated)
	}
	if account && len(who.Groups) == 0 {
		who.Groups = serviceaccount.MakeGroupNames(namespace)
	}
	who.Groups = completeGroups(who.Name, who.Groups)
	return who, reviews, nil
}

// completeGroups adds the group of all known users, or of the unknown, as an API server does.
func completeGroups(name string, groups []string) []string {
	unknown := slices.Contains(groups, user.AllUnauthenticated)
	switch {
	case name == user.Anonymous && !unknown:
		return append(groups, user.AllUnauthenticated)
	case name != user.Anonymous && !unknown && !slices.Contains(groups, user.AllAuthenticated):
		return append(groups, user.AllAuthenticated)
	default:
		return groups
	}
}

func isImpersonation(name string) bool {
	switch name {
	case authenticationv1.ImpersonateUserHeader, authenticationv1.ImpersonateUIDHeader, authenticationv1.ImpersonateGroupHeader:
		return true
	default:
		return strings.HasPrefix(name, authenticationv1.ImpersonateUserExtraHeaderPrefix)
	}
}

// askedExtra returns the extra values in the headers. Their names are in lower case and escaped, as an API server reads them.
func askedExtra(header http.Header) map[string][]string {
	var out map[string][]string
	for name, values := range header {
		escaped, ok := strings.CutPrefix(name, authenticationv1.ImpersonateUserExtraHeaderPrefix)
		if !ok {
			continue
		}
		key := strings.ToLower(escaped)
		if plain, err := url.PathUnescape(key); err == nil {
			key = plain
		}
		if out == nil {
			out = map[string][]string{}
		}
		out[key] = append(out[key], values...)
	}
	return out
}
