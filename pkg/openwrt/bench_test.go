package openwrt_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/openwrt"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// BenchmarkPut changes one of many rules, client and device together. A real device takes about 50 ms for a request.
func BenchmarkPut(b *testing.B) {
	for _, rules := range []int{1, 200, 1000} {
		b.Run(fmt.Sprint(rules), func(b *testing.B) {
			d, err := simulator.New(simulator.Options{})
			require.NoError(b, err)
			b.Cleanup(d.Close)
			c, err := openwrt.New(openwrt.Options{
				URL: d.URL(), Dial: d.Dial,
				Password: func(context.Context) (string, error) { return simulator.DefaultPassword, nil },
			})
			require.NoError(b, err)
			b.Cleanup(c.Close)
			write := func(i int) {
				o := openwrt.ObjectOf(openwrt.FirewallRule{Name: fmt.Sprintf("r%d", i), Proto: "tcp", DestPort: "80", Target: "ACCEPT"})
				_, err := c.Put(b.Context(), openwrt.FirewallRules, o)
				require.NoError(b, err)
			}
			for i := range rules {
				write(i)
			}
			n := 0
			for b.Loop() {
				write(n % rules)
				n++
			}
		})
	}
}
