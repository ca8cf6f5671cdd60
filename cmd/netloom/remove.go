package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/offline"
	"github.com/netloom/netloom/pkg/openwrt"
)

// deviceFlags say which device is meant, and how to talk to it.
type deviceFlags struct{ url, ca, user, passwordFile string }

func newRemove() *cobra.Command {
	var yes bool
	var device deviceFlags
	cmd := &cobra.Command{
		Use:   "remove --ovn-nb ADDR",
		Short: "Remove everything that netloom has written to a target",
		Long: `Remove everything that an owner has in a target: a database, a Tungsten Fabric controller, or the device of a CNF. Then read it
back to verify. What others have written stays.

Stop netloom run first, or it writes everything again. Without --yes, print what would be removed, remove nothing, and exit
with 2. With it, exit with 0 if nothing is left, and with 1 otherwise. From then on every pod is open, unless somebody
else's configuration isolates it.`,
		Example: `  netloom remove --ovn-nb unix:/var/run/ovn/ovnnb_db.sock
  netloom remove --tungsten http://10.0.0.1:8082 --owner netloom --yes`,
		Args: cobra.NoArgs,
	}
	bindConfig(cmd)
	showSettings(cmd, "tungsten", "owner")
	flags := cmd.Flags()
	flags.BoolVar(&yes, "yes", false, "remove everything, instead of printing what would be removed")
	flags.StringVar(&device.url, "device", "", "URL of the device of a CNF, such as https://10.244.0.7")
	flags.StringVar(&device.ca, "device-ca", "", "file with the certificates that may sign that of the device")
	flags.StringVar(&device.user, "device-user", openwrt.DefaultUser, "user of the device")
	flags.StringVar(&device.passwordFile, "device-password-file", "", "file with the password of the device; without it, no login")
	output := bindOutput(cmd, formTable, formJSON, formYAML)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := device.only(cmd); err != nil {
			return err
		}
		cfg, err := loadConfig(cmd)
		if err := errors.Join(err, output.check()); err != nil {
			return err
		}
		return remove(cmd, cfg, device, yes, output.form)
	}
	return cmd
}

func remove(cmd *cobra.Command, cfg *configuration, device deviceFlags, yes bool, form string) error {
	settings := optionsOf(cfg).Target
	settings.Log = quietLog(cmd, cfg)
	if err := device.set(&settings); err != nil {
		return err
	}
	if device.url == "" {
		if err := checkTarget(cfg); err != nil {
			return err
		}
	}
	doing := "planning"
	if yes {
		doing = "removing"
	}
	done := progress(cmd, doing)
	plan, err := offline.Remove(cmd.Context(), settings, !yes)
	done()
	if plan != nil {
		err = errors.Join(err, printPlan(cmd, plan, form))
	}
	if err != nil || yes {
		return err
	}
	return verdictOfPlan(plan)
}

// only makes a device, if there is one, the only target: no other is required, and none of a file or of the environment counts.
func (d *deviceFlags) only(cmd *cobra.Command) error {
	switch {
	case d.url == "":
		return nil
	case cmd.Flags().Changed("ovn-nb") || cmd.Flags().Changed("tungsten"):
		return errors.New("--device: expected no other target")
	default:
		return cmd.Flags().Set("ovn-nb", ovn.Embedded)
	}
}

// set adds the device to the settings of targets, if there is one.
func (d *deviceFlags) set(settings *builtin.Settings) error {
	if d.url == "" {
		return nil
	}
	client := openwrt.Options{URL: d.url, User: d.user}
	if d.ca != "" {
		ca, err := os.ReadFile(d.ca)
		if err != nil {
			return fmt.Errorf("--device-ca: %w", err)
		}
		client.CA = ca
	}
	if d.passwordFile != "" {
		client.Password = func(context.Context) (string, error) {
			content, err := os.ReadFile(d.passwordFile)
			return strings.TrimRight(string(content), "\r\n"), err
		}
	}
	settings.OpenWRT = builtin.OpenWRTSettings{Client: client, CNF: intent.CNFID(d.url)}
	return nil
}
