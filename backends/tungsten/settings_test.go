package tungsten_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/tungsten"
)

// configure sets settings by key and returns the contradictions among them.
func configure(t *testing.T, values map[string]string) (s *tungsten.Settings, contradictions []string) {
	t.Helper()
	s = new(tungsten.Settings)
	group := s.Group()
	for _, one := range group.Settings {
		if one.Default != "" {
			require.True(t, one.Set(one.Default), one.Key)
		}
		if v, ok := values[one.Key]; ok {
			require.True(t, one.Set(v), "%s %s", one.Key, v)
		}
	}
	group.Conflicts(func(key, reason string) { contradictions = append(contradictions, key+" "+reason) })
	return s, contradictions
}

func TestContradictions(t *testing.T) {
	for name, tc := range map[string]struct{ values, want string }{
		"nothing":                  {"", ""},
		"a user without password":  {"tungsten-user=admin", "tungsten-user needs tungsten-password-file"},
		"a password without user":  {"tungsten-password-file=/p", "tungsten-password-file needs tungsten-user"},
		"Keystone without a user":  {"tungsten-keystone=http://k:5000/v3", "tungsten-keystone needs tungsten-user"},
		"a certificate, no key":    {"tungsten-cert=/c", "tungsten-cert needs tungsten-key"},
		"a key, no certificate":    {"tungsten-key=/k", "tungsten-key needs tungsten-cert"},
		"everything":               {"tungsten-user=a tungsten-password-file=/p tungsten-keystone=https://k/v3 tungsten-cert=/c tungsten-key=/k", ""},
		"several servers, no user": {"tungsten=http://a:8082,https://[2001:db8::1]:8082", ""},
	} {
		t.Run(name, func(t *testing.T) {
			values := map[string]string{}
			for part := range strings.FieldsSeq(tc.values) {
				key, value, _ := strings.Cut(part, "=")
				values[key] = value
			}
			_, got := configure(t, values)
			require.Equal(t, tc.want, strings.Join(got, "; "))
		})
	}
}

func TestServersAreURLs(t *testing.T) {
	set := new(tungsten.Settings).Group().Settings[0].Set
	for _, bad := range []string{"controller:8082", "ftp://c", "http://", "http://user:pw@c:8082", "http://c:8082/path", "http://c?x", "http://a:1,", "embedded,http://a:1"} {
		require.False(t, set(bad), bad)
	}
	for _, good := range []string{"http://c", "https://10.0.0.1:8082/", "http://a:8082,http://b:8082", "embedded", ""} {
		require.True(t, set(good), good)
	}
}

func TestFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	s, _ := configure(t, map[string]string{
		"tungsten": "http://c:8082", "tungsten-ca-cert": file("ca", "CA"), "tungsten-user": "admin",
		"tungsten-password-file": file("password", "old\n"), "tungsten-keystone": "http://k:5000/v3",
	})
	require.True(t, s.Configured())
	opts, err := s.Client()
	require.NoError(t, err)
	require.Equal(t, "CA", string(opts.Credentials.CA))
	file("ca", "another CA")
	renewed, err := opts.Renewed()
	require.NoError(t, err)
	require.Equal(t, "another CA", string(renewed.CA))
	require.Equal(t, "admin", opts.Keystone.Project)
	for _, want := range []string{"old", "new"} {
		file("password", want+"\n")
		got, err := opts.Password(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	s, _ = configure(t, map[string]string{"tungsten-ca-cert": dir + "/none", "tungsten-cert": dir + "/nothing", "tungsten-key": dir + "/nobody"})
	_, err = s.Client()
	for _, want := range []string{"none", "nothing", "nobody"} {
		require.ErrorContains(t, err, want)
	}
}
