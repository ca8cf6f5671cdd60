package section

import "github.com/netloom/netloom/pkg/openwrt"

// Text returns the text in a field; "" if it has none.
func Text(o openwrt.Object, field string) string {
	s, _ := o[field].(string)
	return s
}
