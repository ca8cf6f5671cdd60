package config

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/config/setting"
)

// Values are the values of some settings, as text that their flags take, by key. Unknown keys have none.
func (c *Config) Values(keys ...string) map[string]string {
	out := map[string]string{}
	for _, s := range c.all {
		if !slices.Contains(keys, s.Key) {
			continue
		}
		value := s.Show()
		if list, ok := value.([]string); ok {
			value = strings.Join(list, ",")
		}
		out[s.Key] = fmt.Sprint(value)
	}
	return out
}

// Print writes every setting as a configuration file, each with a comment about where its value came from.
func (c *Config) Print(w io.Writer) error {
	var lines [][2]string
	width := 0
	for _, s := range c.all {
		if s.Removed != "" {
			continue
		}
		value := s.Show()
		if list, ok := value.([]string); ok {
			value = strings.Join(list, ",")
		}
		entry, err := yaml.Marshal(map[string]any{s.Key: value})
		if err != nil {
			return fmt.Errorf("print %s: %w", s.Key, err)
		}
		line := strings.TrimSpace(string(entry))
		width = max(width, len(line))
		lines = append(lines, [2]string{line, c.origins[s.Key].String()})
	}
	for _, l := range lines {
		if _, err := fmt.Fprintf(w, "%-*s  # %s\n", width, l[0], l[1]); err != nil {
			return fmt.Errorf("print configuration: %w", err)
		}
	}
	return nil
}

// Document writes the reference of all settings as Markdown.
func Document(w io.Writer, backends ...setting.Group) error {
	var b strings.Builder
	b.WriteString(`# Configuration

<!-- Generated from pkg/config by "make generate". -->

A setting comes from its default, the configuration file, the environment or a flag; later sources override earlier
ones. The file is YAML, set by ` + "`--config`" + ` or ` + "`" + fileEnv + "`" + `, and its keys are the flags without the
leading dashes. ` + "`netloom run --print-config`" + ` prints every value and where it came from, in the format of such a file;
` + "`netloom run --check-config`" + ` reports all errors in it and exits.

| flag | variable | default | meaning |
|---|---|---|---|
`)
	documentTable(&b, Settings(backends...))
	b.WriteString("\n## An example\n\n```yaml\n" + example + "```\n")
	b.WriteString(`
## The gateway

` + "`netloom gateway`" + ` reads these in the same way, also from the same file, where their keys are the variables without NETLOOM_, in
lower case and with dashes: ` + "`gateway-shared-watches: true`" + `. Other commands ignore them.

| flag | variable | default | meaning |
|---|---|---|---|
`)
	documentTable(&b, GatewaySettings())
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("document settings: %w", err)
	}
	return nil
}

// documentTable writes a row for each setting.
func documentTable(b *strings.Builder, settings []setting.Setting) {
	for _, s := range settings {
		if s.Removed != "" {
			fmt.Fprintf(b, "| `%s` | `%s` | none | **Deprecated**: has no effect, and will be an error in %s: %s. |\n", s.Flag(), s.Env(), s.Removed, s.Usage)
			continue
		}
		def := "none"
		if s.Default != "" {
			def = "`" + s.Default + "`"
		}
		usage := strings.ToUpper(s.Usage[:1]) + s.Usage[1:] + "."
		if s.Kind != setting.KindBool && (s.Expect != "" || len(s.Choices) > 0) {
			usage += " Expects " + s.Expected() + "."
		}
		for _, f := range s.Former {
			usage += fmt.Sprintf(" Until %s also `--%s` and `%s`, with a warning.", f.Removed, f.Key, f.Env())
		}
		fmt.Fprintf(b, "| `%s` | `%s` | %s | %s |\n", s.Flag(), s.Env(), def, strings.ReplaceAll(usage, "|", `\|`))
	}
}

// example is a file that is loaded by a test.
const example = `ovn-nb:
  - ssl:[2001:db8::1]:6641
  - ssl:[2001:db8::2]:6641
  - ssl:[2001:db8::3]:6641
ovn-ca-cert: /etc/netloom/tls/ca.crt
ovn-cert: /etc/netloom/tls/tls.crt
ovn-key: /etc/netloom/tls/tls.key
ovn-port-names: kube-ovn
drift-interval: 10m
log-format: json
`
