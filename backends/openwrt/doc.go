// Package openwrt makes one OpenWRT network function hold what a snapshot says of the gateways of its scope.
package openwrt
