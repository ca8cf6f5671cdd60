package main

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// spdx is a document of SPDX 2.3; the names of its fields are the specification's.
type spdx struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      spdxCreation   `json:"creationInfo"`
	Packages      []spdxPackage  `json:"packages"`
	Relationships []spdxRelation `json:"relationships"`
}

type spdxCreation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	ID        string         `json:"SPDXID"`
	Name      string         `json:"name"`
	Version   string         `json:"versionInfo"`
	Location  string         `json:"downloadLocation"`
	Analyzed  bool           `json:"filesAnalyzed"`
	Concluded string         `json:"licenseConcluded"`
	Declared  string         `json:"licenseDeclared"`
	Copyright string         `json:"copyrightText"`
	Purpose   string         `json:"primaryPackagePurpose"`
	Checksums []spdxChecksum `json:"checksums,omitempty"`
	External  []spdxExternal `json:"externalRefs"`
}

type spdxChecksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type spdxExternal struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type spdxRelation struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

// unstamped is when a document was made if the program does not say when its commit was.
const unstamped = "1970-01-01T00:00:00Z"

// inSPDX says the same as a bill of CycloneDX in SPDX.
func inSPDX(b *bill) *spdx {
	whole := &b.Metadata.Component
	created := b.Metadata.Timestamp
	if created == "" {
		created = unstamped
	}
	root := spdxPackageOf(whole, "APPLICATION")
	root.Declared = "Apache-2.0"
	d := &spdx{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: whole.Name,
		Namespace: "https://github.com/netloom/netloom/spdx/" + strings.TrimPrefix(b.Serial, "urn:uuid:"),
		Creation:  spdxCreation{created, []string{"Tool: netloom-sbom"}}, Packages: []spdxPackage{root},
		Relationships: []spdxRelation{{"SPDXRef-DOCUMENT", "DESCRIBES", root.ID}},
	}
	for i := range b.Components {
		p := spdxPackageOf(&b.Components[i], "LIBRARY")
		d.Packages = append(d.Packages, p)
		d.Relationships = append(d.Relationships, spdxRelation{root.ID, "DEPENDS_ON", p.ID})
	}
	return d
}

// spdxPackageOf describes a program or a module. The hash of a module is one over the hashes of its files, which SPDX has no name for.
func spdxPackageOf(c *component, purpose string) spdxPackage {
	const unknown = "NOASSERTION"
	sum := sha256.Sum256([]byte(c.PURL))
	p := spdxPackage{
		ID: "SPDXRef-" + hex.EncodeToString(sum[:8]), Name: c.Name, Version: c.Version, Location: unknown, Concluded: unknown, Declared: unknown,
		Copyright: unknown, Purpose: purpose, External: []spdxExternal{{"PACKAGE-MANAGER", "purl", c.PURL}},
	}
	if purpose == "APPLICATION" {
		for _, h := range c.Hashes {
			p.Checksums = append(p.Checksums, spdxChecksum{strings.ReplaceAll(h.Algorithm, "-", ""), h.Content})
		}
	}
	return p
}
