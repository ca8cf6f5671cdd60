package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// notes returns the section of CHANGELOG.md for the version. What comes before a release, such as v1.0.0-rc.1, may have that of what is not
// released yet.
func (r *release) notes() (string, error) {
	text, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return "", err
	}
	titles := []string{r.number()}
	if strings.Contains(r.version, "-") {
		titles = append(titles, "Unreleased")
	}
	for _, title := range titles {
		_, section, found := strings.Cut("\n"+string(text), "\n## ["+title+"]")
		if !found {
			continue
		}
		_, section, _ = strings.Cut(section, "\n") // a date
		section, _, _ = strings.Cut(section, "\n## ")
		return "# netloom " + r.number() + "\n\n" + strings.TrimSpace(section) + "\n", nil
	}
	return "", fmt.Errorf("CHANGELOG.md: expected a section ## [%s]", r.number())
}

// footer tells how to check and install what was released.
func (r *release) footer() string {
	return fmt.Sprintf(`
## Installation

The image is `+"`%[1]s@%[2]s`"+`, for linux/amd64 and linux/arm64. The chart and the kustomizations of this release select it by that digest.

`+"```sh\n"+`sha256sum --ignore-missing -c SHA256SUMS
tar -xzf netloom-%[3]s-kustomize.tar.gz && kubectl apply -k netloom-%[3]s/kustomize/overlays/kube-ovn
helm install netloom netloom-%[3]s.tgz -n netloom-system --create-namespace --set 'config.ovn-nb={tcp:10.0.0.1:6641}' --set config.ovn-port-names=kube-ovn
kubectl krew install --manifest netloom.yaml
`+"```\n", imageName, r.digest, r.number())
}
