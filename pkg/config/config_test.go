package config_test

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/config"
	"github.com/netloom/netloom/pkg/config/setting"
	"github.com/netloom/netloom/pkg/intent"
)

// place is the world that a configuration is read from.
type place struct {
	args  string
	env   map[string]string
	files map[string]string
}

// loaded is a configuration with the settings of the backends that are compiled in.
type loaded struct {
	*config.Config
	backends builtin.Settings
}

func (p place) load(t *testing.T) (*loaded, error) {
	t.Helper()
	flags := pflag.NewFlagSet("netloom", pflag.ContinueOnError)
	l := &loaded{}
	groups := l.backends.Groups()
	config.Bind(flags, groups...)
	require.NoError(t, flags.Parse(strings.Fields(p.args)))
	env := func(name string) (string, bool) {
		v, ok := p.env[name]
		return v, ok
	}
	read := func(name string) ([]byte, error) {
		if content, ok := p.files[name]; ok {
			return []byte(content), nil
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	var err error
	if l.Config, err = config.Load(flags, env, read, groups...); err != nil {
		require.Nil(t, l.Config)
		return nil, err
	}
	return l, nil
}

func TestDefaults(t *testing.T) {
	c, err := place{args: "--ovn-nb tcp:127.0.0.1:6641"}.load(t)
	require.NoError(t, err)
	require.Equal(t, "netloom", c.Owner)
	require.Equal(t, []string{"tcp:127.0.0.1:6641"}, c.backends.OVN.Endpoints)
	require.Equal(t, "ovn-kubernetes", c.backends.OVN.PortNames)
	require.EqualValues(t, 20, c.backends.OVN.LogRate)
	require.Zero(t, c.Families)
	require.Zero(t, c.MinInterval)
	require.Equal(t, 5*time.Minute, c.DriftInterval)
	require.InDelta(t, 0.5, c.MaxDeleteFraction, 0)
	require.Equal(t, ":8080", c.Listen)
	require.Equal(t, logrus.InfoLevel, c.LogLevel)
	require.Equal(t, config.LogAuto, c.LogFormat)
	require.False(t, c.Force)
	require.True(t, c.Services)
	require.Equal(t, config.EndpointsAuto, c.EndpointsAPI)
	require.False(t, c.backends.OVN.Embedded())
}

func TestTheLaterPlaceWins(t *testing.T) {
	p := place{
		args:  "--config netloom.yaml --owner from-flag --pprof --ovn-nb unix:/b --ovn-nb unix:/c",
		env:   map[string]string{"NETLOOM_OWNER": "from-env", "NETLOOM_CLUSTER": "from-env", "NETLOOM_LISTEN": ""},
		files: map[string]string{"netloom.yaml": "owner: from-file\ncluster: from-file\nfamilies: dual\novn-nb: [unix:/a]\nlisten: :1\n"},
	}
	c, err := p.load(t)
	require.NoError(t, err)
	require.Equal(t, "from-flag", c.Owner)
	require.Equal(t, "from-env", c.Cluster)
	require.Equal(t, intent.IPv4|intent.IPv6, c.Families)
	require.Equal(t, []string{"unix:/b", "unix:/c"}, c.backends.OVN.Endpoints)
	require.Empty(t, c.Listen)
	require.True(t, c.Pprof)
	for key, want := range map[string]string{
		"owner": "flag --owner", "cluster": "environment NETLOOM_CLUSTER", "families": "file netloom.yaml", "force": "default",
	} {
		require.Equal(t, want, c.Origin(key).String())
	}
}

func TestTheFileCanBeNamedInTheEnvironment(t *testing.T) {
	c, err := place{
		env:   map[string]string{"NETLOOM_CONFIG": "a.yaml"},
		files: map[string]string{"a.yaml": "ovn-nb: embedded\n"},
	}.load(t)
	require.NoError(t, err)
	require.True(t, c.backends.OVN.Embedded())
}

func TestEveryFaultIsReportedAtOnce(t *testing.T) {
	p := place{
		args: "--config netloom.yaml --owner Not_Good --retry-max 1ms --ovn-key key.pem",
		env:  map[string]string{"NETLOOM_DRIFT_INTERVAL": "soon", "NETLOOM_FAMILIES": "ipv5", "NETLOOM_OVN_NB": "ssl:a:1,http://x"},
		files: map[string]string{"netloom.yaml": `
ovnNB: tcp:1.2.3.4:6641
max-delete-fraction: 1.5
pprof: "yes"
cluster: 7
manifests: dir
kubeconfig: kc
log-level: loud
ovn-port-names: "{namespace}"
listen: "8080"
ovn-meter-rate: -1
`},
	}
	_, err := p.load(t)
	var lines []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		lines = append(lines, line)
	}
	require.ElementsMatch(t, []string{
		`owner (flag --owner): "Not_Good": expected 1 to 32 characters of a-z, 0-9 and dash, with no dash at either end`,
		`retry-max (flag --retry-max): 1ms is less than retry-min (default), 250ms`,
		`ovn-key (flag --ovn-key): needs ovn-cert`,
		`drift-interval (environment NETLOOM_DRIFT_INTERVAL): "soon": expected a duration such as 500ms or 2m`,
		`families (environment NETLOOM_FAMILIES): "ipv5": expected one of auto, ipv4, ipv6, dual`,
		`ovn-nb (environment NETLOOM_OVN_NB): "ssl:a:1,http://x": expected unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT, separated by commas, or embedded`,
		`ovnNB (file netloom.yaml): unknown setting; did you mean ovn-nb?`,
		`max-delete-fraction (file netloom.yaml): "1.5": expected a number from 0 to 1`,
		`pprof (file netloom.yaml): "yes": expected a bool: true or false`,
		`cluster (file netloom.yaml): 7: expected a string: up to 63 characters of a-z, 0-9, dash and dot`,
		`kubeconfig (file netloom.yaml): cannot be combined with manifests (file netloom.yaml)`,
		`log-level (file netloom.yaml): "loud": expected one of error, warning, info, debug, trace`,
		`ovn-port-names (file netloom.yaml): "{namespace}": expected ovn-kubernetes, kube-ovn, nodus, a template such as {namespace}_{pod}, or external-ids:KEY[=TEMPLATE]`,
		`listen (file netloom.yaml): "8080": expected [HOST]:PORT, or nothing`,
		`ovn-meter-rate (file netloom.yaml): "-1": expected a whole number, 0 or greater`,
	}, lines)
	var fault *config.Fault
	require.ErrorAs(t, err, &fault)
}

func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		name string
		place
		want string
	}{
		{"no database", place{}, "ovn-nb (default): expected the address of the Northbound database"},
		{"a file that is not there", place{args: "--config x.yaml"}, "config (flag --config): open x.yaml: file does not exist"},
		{
			"a file that is not YAML",
			place{args: "--config x", files: map[string]string{"x": "a: [b"}},
			"config (file x): yaml: line 1: did not find expected ',' or ']'",
		},
		{
			"a file that is a list",
			place{args: "--config x", files: map[string]string{"x": "- a"}},
			"config (file x): expected settings, each KEY: VALUE",
		},
		{
			"a key given twice",
			place{args: "--config x", files: map[string]string{"x": "owner: a\nowner: b\n"}},
			`config (file x): yaml: unmarshal errors: line 2: key "owner" already set in map`,
		},
		{
			"a certificate without a key",
			place{args: "--ovn-nb ssl:a:1 --ovn-ca-cert a --ovn-cert b"},
			"ovn-cert (flag --ovn-cert): needs ovn-key",
		},
		{"ssl without an authority", place{args: "--ovn-nb ssl:a:1"}, "ovn-nb (flag --ovn-nb): ssl endpoints need ovn-ca-cert"},
		{
			"a context of no file",
			place{args: "--ovn-nb embedded --kube-context a"},
			"kube-context (flag --kube-context): needs kubeconfig",
		},
		{
			"the embedded database beside another",
			place{args: "--ovn-nb embedded,tcp:a:1"},
			`ovn-nb (flag --ovn-nb): "embedded,tcp:a:1": expected unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT, separated by commas, or embedded`,
		},
		{
			"a pause of nothing",
			place{args: "--ovn-nb embedded --retry-min 0s"},
			`retry-min (flag --retry-min): "0s": expected a duration such as 500ms or 2m, greater than 0`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := tc.load(t)
			require.Nil(t, c)
			require.EqualError(t, err, tc.want)
		})
	}
}

func TestWhereLoadBalancersGo(t *testing.T) {
	for _, good := range []string{
		"--ovn-lb-switches ovn-default,node-*", "--ovn-lb-switches !*", "--ovn-lb-switches vpc1=external_ids:vpc=vpc1,!join",
		"--ovn-lb-routers=", "--ovn-lb-routers GR_*", "--ovn-lb-group=", "--ovn-lb-group k8s.lbs", "--ovn-lb-node-switch n-{node}-a",
		"--ovn-service-networks=", "--ovn-service-networks *", "--ovn-service-networks blue,red",
	} {
		_, err := place{args: "--ovn-nb embedded " + good}.load(t)
		require.NoError(t, err, good)
	}
	for _, bad := range []string{
		"--ovn-lb-switches=", "--ovn-lb-switches a,", "--ovn-lb-switches =a", "--ovn-lb-routers external_ids:a", "--ovn-lb-routers a=b=c",
		"--ovn-lb-group a/b", "--ovn-lb-node-switch node", "--ovn-lb-node-router GR_", "--ovn-lb-hairpin 169.254.169.5",
		"--ovn-lb-hairpin=", "--ovn-service-networks blue,",
	} {
		_, err := place{args: "--ovn-nb embedded " + bad}.load(t)
		var fault *config.Fault
		require.ErrorAs(t, err, &fault, bad)
	}
	c, err := place{env: map[string]string{"NETLOOM_OVN_NB": "embedded", "NETLOOM_OVN_LB_HAIRPIN": "169.254.1.1 fd00::1"}}.load(t)
	require.NoError(t, err)
	require.Equal(t, "169.254.1.1 fd00::1", c.backends.OVN.LoadBalancing.Hairpin)
	require.Equal(t, "*", c.backends.OVN.LoadBalancing.Switches)
}

func TestEndpoints(t *testing.T) {
	for _, good := range []string{"unix:/run/nb.sock", "tcp:h:1", "tcp:[::1]:6641", "tcp:a:1,tcp:b:1", "embedded"} {
		_, err := place{args: "--ovn-nb " + good}.load(t)
		require.NoError(t, err, good)
	}
	for _, bad := range []string{"unix:", "tcp:h", "tcp::6641", "tcp:h:70000", "tcp:h:", "h:1", "tcp:a:1,"} {
		_, err := place{args: "--ovn-nb " + bad}.load(t)
		require.Error(t, err, bad)
	}
}

func TestWhatIsPrintedCanBeRead(t *testing.T) {
	first, err := place{
		args: "--ovn-nb tcp:a:1,tcp:[::1]:2 --families ipv6 --max-delete-fraction 0.25 --owner 0123 --pprof",
		env:  map[string]string{"NETLOOM_OVN_PORT_NAMES": "{pod}: # '{namespace}'"},
	}.load(t)
	require.NoError(t, err)
	var printed bytes.Buffer
	require.NoError(t, first.Print(&printed))
	require.Contains(t, printed.String(), "# flag --ovn-nb\n")
	require.Contains(t, printed.String(), "# environment NETLOOM_OVN_PORT_NAMES\n")

	second, err := place{args: "--config p", files: map[string]string{"p": printed.String()}}.load(t)
	require.NoError(t, err, printed.String())
	var again bytes.Buffer
	require.NoError(t, second.Print(&again))
	require.Equal(t, values(printed.String()), values(again.String()))
}

// values leaves out where the values came from.
func values(printed string) []string {
	var out []string
	for line := range strings.Lines(printed) {
		value, _, _ := strings.Cut(line, "  # ")
		out = append(out, strings.TrimSpace(value))
	}
	return out
}

func TestNamesDoNotMeetThoseOfServiceLinks(t *testing.T) {
	for _, s := range slices.Concat(config.Settings(new(builtin.Settings).Groups()...), config.GatewaySettings()) {
		// A Service called netloom puts NETLOOM_PORT, NETLOOM_PORT_… and NETLOOM_SERVICE_… into the environment of pods.
		require.NotRegexp(t, `^NETLOOM_(PORT|SERVICE)(_|$)`, s.Env())
	}
}

func TestUsageReadsAlike(t *testing.T) {
	for _, s := range slices.Concat(config.Settings(new(builtin.Settings).Groups()...), config.GatewaySettings()) {
		require.NotEmpty(t, s.Usage, s.Key)
		require.NotRegexp(t, `\.$|^[A-Z]`, s.Usage, s.Key)
		require.False(t, s.Kind != setting.KindText && s.Expect == "", "%s says what it expects", s.Key)
	}
}

var update = flag.Bool("update", false, "rewrite docs/config.md")

func TestDocumentation(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, config.Document(&b, new(builtin.Settings).Groups()...))
	path := filepath.Join("..", "..", "docs", "config.md")
	if *update {
		require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
	}
	have, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(have), "run make generate")

	_, example, _ := strings.Cut(b.String(), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	_, err = place{args: "--config x", files: map[string]string{"x": example}}.load(t)
	require.NoError(t, err)
}

func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		"", "ovn-nb: embedded\n", "ovn-nb: [a, 1]", "{}", "owner: 0x10", "retry-min: 0", "a: &a [*a]", "force: ~", "? [a]\n: b",
		"drift-interval: 1e400", "\x00", "owner: !!binary aGk=",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		c, err := place{args: "--config f --ovn-nb embedded", files: map[string]string{"f": content}}.load(t)
		if err != nil {
			var fault *config.Fault
			require.ErrorAs(t, err, &fault)
			return
		}
		var printed bytes.Buffer
		require.NoError(t, c.Print(&printed))
		again, err := place{args: "--config f", files: map[string]string{"f": printed.String()}}.load(t)
		require.NoError(t, err, printed.String())
		require.Equal(t, c.Owner, again.Owner)
		require.Equal(t, c.RetryMin, again.RetryMin)
	})
}
