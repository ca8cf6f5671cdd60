package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"path"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// bill is a document of CycloneDX 1.6; the names of its fields are the specification's.
type bill struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Serial       string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp,omitempty"` // of the commit, as the toolchain recorded it
	Component component `json:"component"`
}

type component struct {
	Ref        string     `json:"bom-ref"`
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Scope      string     `json:"scope,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn,omitempty"`
}

// describe makes the bill of a program from the build information in it, and of what else is embedded.
func describe(info *debug.BuildInfo, content []byte, embedded ...component) (*bill, error) {
	sum := sha256.Sum256(content)
	whole := component{
		Ref: purl(info.Path, info.Main.Version), Type: "application", Name: path.Base(info.Path), Version: info.Main.Version,
		Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}}, PURL: purl(info.Main.Path, info.Main.Version),
	}
	b := &bill{Format: "CycloneDX", Spec: "1.6", Version: 1}
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			b.Metadata.Timestamp = s.Value
		}
		whole.Properties = append(whole.Properties, property{"go:build:" + s.Key, s.Value})
	}
	std := strings.TrimPrefix(info.GoVersion, "go")
	b.Components = []component{{Type: "library", Name: "std", Version: std, Scope: "required", PURL: purl("std", std)}}
	for _, m := range info.Deps {
		c, err := library(m)
		if err != nil {
			return nil, err
		}
		b.Components = append(b.Components, c)
	}
	b.Components = append(b.Components, embedded...)
	all := dependency{Ref: whole.Ref}
	for i := range b.Components {
		c := &b.Components[i]
		c.Ref = c.PURL
		all.On = append(all.On, c.Ref)
		b.Dependencies = append(b.Dependencies, dependency{Ref: c.Ref})
	}
	slices.Sort(all.On)
	b.Dependencies = append([]dependency{all}, b.Dependencies...)
	b.Metadata.Component = whole
	b.Serial = uuid.NewSHA1(uuid.NameSpaceURL, sum[:]).URN()
	return b, nil
}

// library is a linked module, or its replacement.
func library(m *debug.Module) (component, error) {
	var stands []property
	if m.Replace != nil {
		stands = []property{{"go:replaces", m.Path + "@" + m.Version}}
		m = m.Replace
	}
	c := component{Type: "library", Name: m.Path, Version: m.Version, Scope: "required", PURL: purl(m.Path, m.Version), Properties: stands}
	if m.Sum == "" {
		return c, nil // a directory
	}
	// The sum is a hash over the hashes of the module's files, as in go.sum.
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
	if err != nil {
		return component{}, fmt.Errorf("%s: sum %q: %w", m.Path, m.Sum, err)
	}
	c.Hashes = []hash{{"SHA-256", hex.EncodeToString(raw)}}
	return c, nil
}

// purl is the package URL of a module.
func purl(module, version string) string {
	return "pkg:golang/" + module + "@" + strings.ReplaceAll(version, "+", "%2B")
}
