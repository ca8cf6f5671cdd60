package openwrt

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMessage(t *testing.T) {
	own := secrets{"test_key", `a"b/c`, ""}
	for _, tc := range []struct {
		name string
		code int
		body string
		want string
	}{
		{"plain", 400, `{"message":"policy p is used"}`, "policy p is used"},
		{"quotes within", 400, `{"message":"invalid policy [Policy[a"b] is not definied]"}`, `invalid policy [Policy[a"b] is not definied]`},
		{"a secret", 400, `{"message":"bad test_key"}`, "bad (redacted)"},
		{"a secret as JSON spells it", 400, `{"message":"bad a\"b\/c and a\"b/c"}`, "bad (redacted) and (redacted)"},
		{"an unknown secret", 500, `{"pre_shared_key":"other","x":1}`, `{"pre_shared_key":"(redacted)","x":1}`},
		{"and is cut short", 500, `{"pre_shared_key" : "oth`, `{"pre_shared_key" : "(redacted)"`},
		{"a certificate", 500, "x -----BEGIN PRIVATE KEY-----\nabc", "x (redacted)"},
		{"a script's last words", 500, "/a.lua:1: Failed\nThe called action terminated with an exception:\n/b/mwan3_rest.lua:3: why it is\nstack", "why it is"},
		{"a script's message", 500, "...ib/lua/mwan3_rest.lua:145: why it is\nstack traceback:\n\t/b/utils.lua:3: in function", "why it is"},
		{"a page", 404, "<!DOCTYPE html><p>test", ""},
		{"nothing", 400, "", ""},
		{"long", 400, strings.Repeat("ä", 500), strings.Repeat("ä", 300) + "…"},
		{"not UTF-8", 400, "a\xffb", "a?b"},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, own.message(tc.code, []byte(tc.body))) })
	}
}

func TestSecretsPrintAsNothing(t *testing.T) {
	r := Remote{Name: "hub", PreSharedKey: "test_key", PrivateKey: "cHJpdmF0ZQ==", Connections: []Connection{{Name: "c"}}}
	o := ObjectOf(r)
	asJSON, err := json.Marshal(o)
	require.NoError(t, err)
	structJSON, err := json.Marshal(r)
	require.NoError(t, err)
	for _, text := range []string{
		fmt.Sprint(r), fmt.Sprintf("%+v", r), fmt.Sprintf("%#v", r), fmt.Sprint(o), fmt.Sprintf("%#v", o), fmt.Sprintf("%q", o),
		fmt.Sprintf("%x", o), string(asJSON), string(structJSON), fmt.Sprint(&r), fmt.Sprint([]any{o}),
	} {
		require.NotContains(t, text, "test_key")
		require.NotContains(t, text, "cHJpdmF0ZQ")
		require.NotContains(t, text, "746573745f6b6579", "in hexadecimal")
	}
	sent, err := wire(o)
	require.NoError(t, err)
	require.Contains(t, string(sent), `"pre_shared_key":"test_key"`)
	require.ElementsMatch(t, secrets{"test_key", "cHJpdmF0ZQ=="}, secretsOf(o))
}

// FuzzMessage puts a secret into a message, as it is and as JSON may spell it.
func FuzzMessage(f *testing.F) {
	f.Add(400, `{"message":"x `, `"}`)
	f.Add(500, "The called action terminated\n/a.lua:1: ", "\n")
	f.Fuzz(func(t *testing.T, code int, before, after string) {
		const key = `s3cr3t/K3y"+`
		for _, spelled := range []string{key, `s3cr3t/K3y\"+`, `s3cr3t\/K3y\"+`} {
			got := secrets{key}.message(code, []byte(before+spelled+after))
			require.LessOrEqual(t, len(got), longestMessage+len("…"))
			require.NotContains(t, got, "K3y")
		}
	})
}
