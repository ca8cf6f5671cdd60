package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// release is the name of the release, set by the linker in released binaries only:
//
//	go build -ldflags "-X github.com/netloom/netloom/pkg/version.release=v1.2.3"
var release string

// Info describes a build.
type Info struct {
	Version  string `json:"version"`            // the release, the module version, or "devel"
	Revision string `json:"revision,omitempty"` // the commit; "" when the build does not know it
	Time     string `json:"time,omitempty"`     // the commit's, RFC 3339
	Modified bool   `json:"modified,omitempty"` // the tree had uncommitted changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Current describes the running binary.
func Current() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{}
	}
	return describe(release, build)
}

func describe(release string, build *debug.BuildInfo) Info {
	info := Info{
		Version:  release,
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if info.Version == "" {
		info.Version = strings.Trim(build.Main.Version, "()")
	}
	if info.Version == "" {
		info.Version = "devel"
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			info.Revision = s.Value
		case "vcs.time":
			info.Time = s.Value
		case "vcs.modified":
			info.Modified = s.Value == "true"
		}
	}
	return info
}

// String describes the build on one line, for display and bug reports.
func (i Info) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "netloom %s (", i.Version)
	if i.Revision != "" {
		fmt.Fprintf(&b, "commit %.12s", i.Revision)
		if i.Modified {
			b.WriteString(" with changes")
		}
		b.WriteString(", ")
	}
	fmt.Fprintf(&b, "%s, %s)", i.Go, i.Platform)
	return b.String()
}
