package main

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// checkout is a scratch repository with a main branch and a change, and netloom on the PATH.
type checkout struct {
	t        *testing.T
	dir, tmp string
	env      map[string]string
}

const (
	ciPods = `apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {app: web}}
status: {podIP: 10.0.0.1}
---
apiVersion: v1
kind: Pod
metadata: {name: db, namespace: shop, labels: {app: db}}
status: {podIP: 10.0.0.2}
`
	ciPolicy = `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: all, namespace: shop}
spec: {podSelector: {}, policyTypes: [Ingress, Egress], ingress: [{from: [{podSelector: {}}], ports: [{port: 80}]}], egress: [{to: [{podSelector: {}}]}]}
`
)

func newCheckout(t *testing.T) *checkout {
	t.Helper()
	c := &checkout{t: t, dir: t.TempDir(), tmp: t.TempDir()}
	c.env = map[string]string{
		"PATH": installed(t) + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME": c.tmp, "RUNNER_TEMP": c.tmp, "TMPDIR": c.tmp,
		"GITHUB_OUTPUT": filepath.Join(c.tmp, "output"), "GITHUB_STEP_SUMMARY": filepath.Join(c.tmp, "summary"),
		"GITHUB_PATH": filepath.Join(c.tmp, "path"), "GIT_CONFIG_NOSYSTEM": "1",
	}
	c.git("init", "-q", "-b", "main")
	c.git("config", "user.name", "a")
	c.git("config", "user.email", "a@example.com")
	c.write("manifests/pods.yaml", ciPods)
	c.write("manifests/policy.yaml", ciPolicy)
	c.commit()
	c.git("checkout", "-q", "-b", "change")
	return c
}

func (c *checkout) git(args ...string) {
	c.t.Helper()
	code, out := c.sh("git \"$@\"", append([]string{"git"}, args...)...)
	require.Zero(c.t, code, out)
}

func (c *checkout) commit() {
	c.t.Helper()
	c.git("add", "-A")
	c.git("commit", "-q", "-m", "x", "--allow-empty")
}

func (c *checkout) write(path, text string) {
	c.t.Helper()
	path = filepath.Join(c.dir, path)
	require.NoError(c.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(c.t, os.WriteFile(path, []byte(text), 0o600))
}

// sh runs a script as GitLab does, and GitHub: bash, which it has, reports the failures within a pipe, too.
func (c *checkout) sh(script string, args ...string) (int, string) {
	c.t.Helper()
	require.NotRegexp(c.t, `[^|]\|[^|]`, script, "not every shell tells that something within a pipe failed")
	cmd := exec.CommandContext(c.t.Context(), "sh", append([]string{"-ec", script}, args...)...)
	cmd.Dir = c.dir
	for name, value := range c.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) {
		require.NoError(c.t, err)
		return 0, string(out)
	}
	return exit.ExitCode(), string(out)
}

// file is the content of a file in the temporary directory; "" if there is none.
func (c *checkout) file(name string) string {
	text, _ := os.ReadFile(filepath.Join(c.tmp, name))
	return string(text)
}

// expression is a reference to an input or an output in the workflow language.
var expression = regexp.MustCompile(`\$\{\{ (inputs|steps)\.([\w.-]+) \}\}`)

// action runs the steps of the GitHub action with some inputs, as far as they are not skipped, and returns the codes of those that
// ran, by name, and what they printed.
func (c *checkout) action(inputs map[string]string) (codes map[string]int, printed string) {
	c.t.Helper()
	var file struct {
		Inputs map[string]struct{ Default string }
		Runs   struct {
			Using string
			Steps []struct {
				Name, ID, If, Shell, Run string
				Env                      map[string]string
			}
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "ci", "github", "action.yml"))
	require.NoError(c.t, err)
	require.NoError(c.t, yaml.Unmarshal(text, &file))
	require.Equal(c.t, "composite", file.Runs.Using)
	values := map[string]string{}
	for name, in := range file.Inputs {
		values["inputs."+name] = in.Default
	}
	for name, value := range inputs {
		require.Contains(c.t, file.Inputs, name)
		values["inputs."+name] = value
	}
	codes = map[string]int{}
	failed := false
	base := maps.Clone(c.env)
	for _, step := range file.Runs.Steps {
		require.NotContains(c.t, step.Run, "${{", "an input in a script can be a script")
		require.Equal(c.t, "bash", step.Shell)
		if failed && step.If == "" {
			continue
		}
		require.NoError(c.t, os.WriteFile(c.env["GITHUB_OUTPUT"], nil, 0o600))
		c.env = maps.Clone(base)
		for name, value := range step.Env {
			c.env[name] = expression.ReplaceAllStringFunc(value, func(s string) string {
				m := expression.FindStringSubmatch(s)
				found, known := values[m[1]+"."+m[2]]
				require.True(c.t, known, "%s: %s", step.Name, s)
				return found
			})
		}
		code, out := c.sh(step.Run)
		codes[step.Name], printed = code, printed+out
		failed = failed || code != 0
		for line := range strings.Lines(c.file("output")) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			values["steps."+step.ID+".outputs."+name] = value
			codes[step.ID+"."+name+"="+value] = 0
		}
	}
	c.env = base
	return codes, printed
}

func TestGitHubAction(t *testing.T) {
	const impact, lint = "Show the impact", "Find mistakes"
	opened := strings.ReplaceAll(ciPolicy, "port: 80", "port: 81")
	opened = strings.Replace(opened, "[{port: 81}]", "[{port: 80}, {port: 81}]", 1)
	for _, tc := range []struct {
		name    string
		change  map[string]string
		inputs  map[string]string
		codes   map[string]int
		summary string
	}{
		{
			"nothing that counts",
			map[string]string{"README": "x"},
			map[string]string{"fail-on": "any", "lint-fail-on": "error"},
			map[string]int{impact: 0, lint: 0, "impact.result=same": 0},
			"No connection changes (2 pods compared).",
		},
		{
			"a port is opened",
			map[string]string{"manifests/policy.yaml": opened},
			map[string]string{"fail-on": "opened", "lint-fail-on": "error"},
			map[string]int{impact: 2, lint: 0, "impact.result=differs": 0},
			"**1 opened, 0 closed** (2 pods compared).",
		},
		{
			"which does not count",
			map[string]string{"manifests/policy.yaml": opened},
			map[string]string{"fail-on": "closed", "lint-fail-on": "error"},
			map[string]int{impact: 0, lint: 0},
			"| shop/db, shop/web | shop/db, shop/web | tcp/81 |",
		},
		{
			"a finding",
			map[string]string{"manifests/policy.yaml": strings.Replace(ciPolicy, "podSelector: {}", "podSelector: {matchLabels: {app: wbe}}", 1)},
			map[string]string{"fail-on": "never"},
			map[string]int{impact: 0, lint: 2},
			"opened",
		},
		{
			"a file that cannot be read",
			map[string]string{"manifests/policy.yaml": "kind: {"},
			map[string]string{"lint-fail-on": "never"},
			map[string]int{impact: 3, lint: 3, "impact.result=cannot-tell": 0},
			"> **Incomplete:** ",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := newCheckout(t)
			for path, text := range tc.change {
				c.write(path, text)
			}
			c.commit()
			c.git("checkout", "-q", "main")
			c.write("manifests/later.yaml", strings.ReplaceAll(ciPods, "name: ", "name: later-")) // after the change left
			c.commit()
			c.git("checkout", "-q", "change")
			inputs := map[string]string{"path": "manifests", "base": "main"}
			maps.Copy(inputs, tc.inputs)
			codes, printed := c.action(inputs)
			for name, code := range tc.codes {
				got, ran := codes[name]
				require.True(t, ran, "%s: %v\n%s", name, codes, printed)
				require.Equal(t, code, got, "%s\n%s", name, printed)
			}
			require.Contains(t, c.file("summary"), tc.summary)
			require.Contains(t, c.file("netloom.sarif"), `"version": "2.1.0"`)
			again, printed := c.action(inputs)
			require.Equal(t, codes, again, "a second run: %s", printed)
		})
	}
	t.Run("no merge base", func(t *testing.T) {
		t.Parallel()
		c := newCheckout(t)
		codes, printed := c.action(map[string]string{"path": "manifests", "base": "origin/main"})
		require.Equal(t, 1, codes["Check out the merge base"], printed)
		require.Contains(t, printed, "check out with fetch-depth: 0")
		require.NotContains(t, codes, impact)
	})
	t.Run("the first manifests", func(t *testing.T) {
		t.Parallel()
		c := newCheckout(t)
		c.write("new/pods.yaml", ciPods)
		c.commit()
		codes, printed := c.action(map[string]string{"path": "new", "base": "main"})
		require.Equal(t, 3, codes[impact], printed)
	})
}

func TestGitLabTemplate(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "ci", "gitlab", "netloom.gitlab-ci.yml"))
	require.NoError(t, err)
	var file map[string]struct {
		Script    []string
		Artifacts struct{ Paths []string }
	}
	var head struct{ Variables map[string]string }
	require.NoError(t, yaml.Unmarshal(text, &head))
	jobs := regexp.MustCompile(`(?s)^.*?\n\n`).ReplaceAll(text, nil) // without the variables, which are no job
	require.NoError(t, yaml.Unmarshal(jobs, &file))
	for _, tc := range []struct {
		name, policy string
		codes        map[string]int
	}{
		{"the same", ciPolicy, map[string]int{"netloom-impact": 0, "netloom-lint": 0}},
		{"a finding", strings.Replace(ciPolicy, "{podSelector: {},", "{podSelector: {matchLabels: {app: wbe}},", 1), map[string]int{"netloom-lint": 2}},
		{"opened", strings.Replace(ciPolicy, "[{port: 80}]", "[]", 1), map[string]int{"netloom-impact": 2, "netloom-lint": 0}},
		{"closed", strings.Replace(ciPolicy, "egress: [{to: [{podSelector: {}}]}]", "egress: []", 1), map[string]int{"netloom-impact": 0}},
		{"faulty", "kind: {", map[string]int{"netloom-impact": 3, "netloom-lint": 3}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := newCheckout(t)
			c.write("manifests/policy.yaml", tc.policy)
			c.commit()
			maps.Copy(c.env, head.Variables)
			maps.Copy(c.env, map[string]string{"NETLOOM_PATH": "manifests", "NETLOOM_FAIL_ON": "opened", "CI_MERGE_REQUEST_DIFF_BASE_SHA": "main"})
			for job, want := range tc.codes {
				require.NotEmpty(t, file[job].Script, job)
				code, out := c.sh(strings.Join(file[job].Script, "\n"))
				require.Equal(t, want, code, "%s: %s", job, out)
				for _, path := range file[job].Artifacts.Paths {
					require.FileExists(t, filepath.Join(c.dir, path))
				}
			}
		})
	}
}
