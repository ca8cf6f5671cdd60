package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

func newDeviceSim() *cobra.Command {
	var listen, caFile string
	var opts simulator.Options
	cmd := &cobra.Command{
		Use:   "device-sim --listen ADDR",
		Short: "Serve a simulated OpenWRT device for experiments",
		Long: `Serve the SD-WAN REST API of an OpenWRT device, with its own configuration and the bugs of the real device. Everything is
kept in memory. When interrupted, print the configuration like "uci export".`,
		Example: `  netloom device-sim --listen 127.0.0.1:8080 &
  curl -H 'Content-Type: application/json' -d '{"name": "lan", "network": ["net0"]}' \
    http://127.0.0.1:8080/cgi-bin/luci/sdewan/firewall/v1/zones`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.TLS = opts.TLS || caFile != ""
			device, err := simulator.New(opts)
			if err != nil {
				return err
			}
			defer device.Close()
			if err := device.Start(listen); err != nil {
				return err
			}
			if caFile != "" {
				if err := os.WriteFile(caFile, device.CA(), 0o600); err != nil {
					return err
				}
			}
			out := cmd.OutOrStdout()
			if _, err := fmt.Fprintf(out, "serving %s/cgi-bin/luci/, user root, password %s\n", device.URL(), passwordText(&opts)); err != nil {
				return err
			}
			<-cmd.Context().Done()
			_, err = fmt.Fprint(out, device.Export())
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&listen, "listen", "127.0.0.1:0", "address to serve on; port 0 selects a free port")
	flags.BoolVar(&opts.TLS, "tls", false, "serve HTTPS")
	flags.StringVar(&caFile, "ca-file", "", "write the CA certificate of the device to this file; implies --tls")
	flags.StringVar(&opts.Password, "password", "", "password of root (default "+simulator.DefaultPassword+")")
	flags.BoolVar(&opts.Strict, "strict", false, "reject calls without a session, unlike the real device")
	return cmd
}

// passwordText shows the default password; a password that the user set is not shown.
func passwordText(opts *simulator.Options) string {
	if opts.Password == "" {
		return simulator.DefaultPassword
	}
	return "as given"
}
