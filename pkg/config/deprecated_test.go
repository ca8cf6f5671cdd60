package config_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/config"
	"github.com/netloom/netloom/pkg/config/setting"
)

// renamed are the settings of a backend that renamed one setting and removed another.
type renamed struct {
	color string
	group setting.Group
}

func newRenamed() *renamed {
	r := &renamed{}
	color := setting.Choice("color", "red", "color of rows", []string{"red", "blue"}, &r.color)
	color.Former = []setting.Former{{Key: "colour", Removed: "v0.3.0"}, {Key: "hue", Removed: "v0.4.0"}}
	r.group = setting.Group{Settings: []setting.Setting{
		color, setting.Retired("varnish", setting.KindBool, "v0.3.0", "rows are always varnished"),
	}, Configured: func() bool { return true }}
	return r
}

func (r *renamed) load(t *testing.T, p place) (*config.Config, error) {
	t.Helper()
	flags := pflag.NewFlagSet("netloom", pflag.ContinueOnError)
	config.Bind(flags, r.group)
	require.NoError(t, flags.Parse(strings.Fields(p.args)))
	require.NotContains(t, flags.FlagUsages(), "colour")
	require.NotContains(t, flags.FlagUsages(), "varnish")
	return config.Load(flags, func(name string) (string, bool) { v, ok := p.env[name]; return v, ok },
		func(name string) ([]byte, error) {
			if text, ok := p.files[name]; ok {
				return []byte(text), nil
			}
			return nil, os.ErrNotExist
		}, r.group)
}

func TestDeprecatedSettingsWorkAndWarn(t *testing.T) {
	for _, tc := range []struct {
		name     string
		place    place
		want     string
		warnings []string
	}{
		{"the current name", place{args: "--color blue"}, "blue", nil},
		{"no name", place{}, "red", nil},
		{
			"an earlier flag",
			place{args: "--colour blue"},
			"blue",
			[]string{"colour (flag --colour) is deprecated and will be an error in v0.3.0: use color"},
		},
		{
			"an earlier variable",
			place{env: map[string]string{"NETLOOM_HUE": "blue"}},
			"blue",
			[]string{"hue (environment NETLOOM_HUE) is deprecated and will be an error in v0.4.0: use color"},
		},
		{
			"an earlier key of the file",
			place{args: "--config f", files: map[string]string{"f": "colour: blue"}},
			"blue",
			[]string{"colour (file f) is deprecated and will be an error in v0.3.0: use color"},
		},
		{
			"an earlier flag goes before the current variable",
			place{args: "--colour blue", env: map[string]string{"NETLOOM_COLOR": "red"}},
			"blue",
			[]string{"colour (flag --colour) is deprecated and will be an error in v0.3.0: use color"},
		},
		{
			"the current flag goes before an earlier one",
			place{args: "--colour red --color blue"},
			"blue",
			[]string{"colour (flag --colour) is deprecated and will be an error in v0.3.0: use color"},
		},
		{"a setting without effect", place{args: "--varnish --color blue", env: map[string]string{"NETLOOM_VARNISH": "perhaps"}}, "blue", []string{
			"varnish (flag --varnish) has no effect any more and will be an error in v0.3.0: rows are always varnished",
			"varnish (environment NETLOOM_VARNISH) has no effect any more and will be an error in v0.3.0: rows are always varnished",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRenamed()
			c, err := r.load(t, tc.place)
			require.NoError(t, err)
			require.Equal(t, tc.want, r.color)
			require.Equal(t, tc.warnings, c.Warnings())
			var printed bytes.Buffer
			require.NoError(t, c.Print(&printed))
			require.Contains(t, printed.String(), "color: "+tc.want)
			require.NotContains(t, printed.String(), "varnish")
		})
	}
	_, err := newRenamed().load(t, place{args: "--colour green"})
	require.ErrorContains(t, err, `color (flag --colour): "green": expected one of red, blue`)

	var page bytes.Buffer
	require.NoError(t, config.Document(&page, newRenamed().group))
	require.Contains(t, page.String(), "Until v0.3.0 also `--colour` and `NETLOOM_COLOUR`, with a warning.")
	require.Contains(t, page.String(), "**Deprecated**: has no effect, and will be an error in v0.3.0: rows are always varnished.")
}
