package kernel

import (
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// Held is what the device stores: objects of ours, and those of others that stand for routes and routing rules.
type Held struct {
	Objects map[section.Key]openwrt.Object
	Others  map[openwrt.Kind][]openwrt.Object
}
