package setting_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/config/setting"
)

// values holds one variable of each type.
type values struct {
	text  string
	list  []string
	bool  bool
	time  time.Duration
	float float64
	whole int
	size  int64
}

func TestValues(t *testing.T) {
	even := func(v string) error {
		if len(v)%2 != 0 {
			return errors.New("odd")
		}
		return nil
	}
	v := &values{}
	for _, tc := range []struct {
		name    string
		s       setting.Setting
		valid   map[string]any // what Show returns
		invalid []string
	}{
		{"any text", setting.Text("k", "", "u", &v.text), map[string]any{"": "", "a b": "a b"}, nil},
		{"text of a form", setting.Matching("k", "", "u", "e", `^a+$`, &v.text), map[string]any{"aa": "aa"}, []string{"", "b"}},
		{"text that is parsed", setting.Parsed("k", "odd", "u", "e", even, &v.text), map[string]any{"ab": "ab", "odd": "odd"}, []string{"abc"}},
		{"a choice", setting.Choice("k", "a", "u", []string{"a", "b"}, &v.text), map[string]any{"b": "b"}, []string{"", "c", "A"}},
		{"true or false", setting.Bool("k", "", "u", &v.bool), map[string]any{"true": true, "0": false}, []string{"", "yes"}},
		{"a duration", setting.Interval("k", "", 0, "u", &v.time), map[string]any{"0s": "0s", "90s": "1m30s"}, []string{"", "1", "-1s"}},
		{"a duration that is not 0", setting.Interval("k", "", 1, "u", &v.time), map[string]any{"1ms": "1ms"}, []string{"0s"}},
		{"whole seconds", setting.WholeSeconds("k", "", "u", &v.time), map[string]any{"2s": "2s"}, []string{"0s", "1500ms"}},
		{"a share", setting.Fraction("k", "", "u", &v.float), map[string]any{"0": 0., "1": 1.}, []string{"", "1.1", "-0.1", "NaN"}},
		{"a whole number", setting.Whole("k", "", "u", &v.whole), map[string]any{"0": 0, "7": 7}, []string{"", "-1", "1.5", "2147483648"}},
		{"a size", setting.Size("k", "64Mi", "u", &v.size), map[string]any{"1024": "1Ki", "5": "5", "3Gi": "3Gi"}, []string{"", "0", "9223372036854775807Ki"}},
		{"a size that need not be given", setting.Size("k", "", "u", &v.size), map[string]any{"": "", "5Mi": "5Mi"}, []string{"0", "x"}},
		{"an address", setting.Listen("k", "", "u", &v.text), map[string]any{"": "", ":1": ":1", "[::1]:2": "[::1]:2"}, []string{"1", "a:b", "a:70000"}},
		{"an address that is needed", setting.Address("k", "", "u", &v.text), map[string]any{":1": ":1"}, []string{"", "1"}},
		{"names", setting.Names("k", "", "u", &v.list), map[string]any{"": []string(nil), "a, b": []string{"a", "b"}}, []string{"a,", ","}},
		{"hosts", setting.Hosts("k", "", "u", &v.list), map[string]any{"*.svc,a.b": []string{"*.svc", "a.b"}}, []string{"*", "a,,b", "*.", "a*"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for text, want := range tc.valid {
				require.True(t, tc.s.Set(text), text)
				require.Equal(t, want, tc.s.Show(), text)
			}
			for _, text := range tc.invalid {
				require.False(t, tc.s.Set(text), text)
			}
		})
	}
}

func TestNames(t *testing.T) {
	s := setting.Choice("peer-mode", "a", "u", []string{"a", "b"}, new(string))
	require.Equal(t, "NETLOOM_PEER_MODE", s.Env())
	require.Equal(t, "--peer-mode", s.Flag())
	require.Equal(t, "one of a, b", s.Expected())
	s.Name, s.Expect = "mode", "anything"
	require.Equal(t, "--mode", s.Flag())
	require.Equal(t, "anything", s.Expected())
}
