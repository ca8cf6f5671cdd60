package dispatch

import (
	"strings"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
)

// rule is a compiled DispatchPolicyRule.
type rule struct {
	verbs, apiGroups, resources, names, groups list
	users                                      users
	accounts                                   map[string]struct{} // user names of service accounts
	urls                                       urls
}

func newRule(r *v1alpha1.DispatchPolicyRule) rule {
	accounts := map[string]struct{}{}
	for _, a := range r.ServiceAccounts {
		accounts["system:serviceaccount:"+a.Namespace+":"+a.Name] = struct{}{}
	}
	return rule{
		verbs: newList(r.Verbs), apiGroups: newList(r.APIGroups), resources: newList(r.Resources), names: newList(r.ResourceNames),
		groups: newList(r.UserGroups), users: newUsers(r.Users), accounts: accounts, urls: newURLs(r.NonResourceURLs),
	}
}

func (r *rule) matches(q *Request) bool {
	if !r.verbs.matches(q.Verb) || !r.matchesUser(q.User) || !r.groups.empty() && !r.groups.matches(q.Groups...) {
		return false
	}
	if !q.IsResource {
		return r.urls.match(q.Path)
	}
	return r.apiGroups.matches(q.APIGroup) && r.matchesResource(q.Resource, q.Subresource) && (r.names.empty() || r.names.matches(q.Name))
}

// matchesUser reports whether users or serviceAccounts match; if both are empty, they match everyone.
func (r *rule) matchesUser(name string) bool {
	if r.users.empty() && len(r.accounts) == 0 {
		return true
	}
	_, account := r.accounts[name]
	return account || r.users.match(name)
}

func (r *rule) matchesResource(resource, subresource string) bool {
	if subresource == "" {
		return r.resources.matches(resource)
	}
	return r.resources.matches(resource+"/"+subresource, "*/"+subresource)
}

// users is a compiled list of user names, whose elements may end in "*".
type users struct {
	list
	included, excluded prefixes
}

func newUsers(elements []string) users {
	rest, included, excluded := cutPrefixes(elements)
	u := users{list: newList(rest), included: included, excluded: excluded}
	if len(u.included) > 0 || len(u.list.included) > 0 {
		u.excluded = nil
		clear(u.list.excluded)
	}
	return u
}

func (u *users) empty() bool { return u.list.empty() && len(u.included) == 0 && len(u.excluded) == 0 }

func (u *users) match(name string) bool {
	switch {
	case u.all:
		return true
	case len(u.included) > 0:
		return u.included.match(name) || len(u.list.included) > 0 && u.matches(name)
	case len(u.excluded) > 0:
		return !u.excluded.match(name) && (u.list.empty() || u.matches(name))
	default:
		return u.matches(name)
	}
}

// urls is a compiled list of paths, which knows no exclusions.
type urls struct {
	all      bool
	exact    map[string]struct{}
	prefixes prefixes
}

func newURLs(elements []string) urls {
	u := urls{exact: map[string]struct{}{}}
	for _, e := range elements {
		prefix, glob := strings.CutSuffix(e, "*")
		switch {
		case e == "*":
			u.all = true
		case strings.HasPrefix(e, "-"): // not supported here
		case glob:
			u.prefixes = append(u.prefixes, prefix)
		default:
			u.exact[e] = struct{}{}
		}
	}
	return u
}

func (u *urls) match(path string) bool {
	_, exact := u.exact[path]
	return u.all || exact || u.prefixes.match(path)
}
