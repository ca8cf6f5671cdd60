package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/config"
)

func TestSDWANAloneNeedsNoDatabase(t *testing.T) {
	c, err := place{args: "--sdewan --sdewan-plain-http --sdewan-status-interval 0"}.load(t)
	require.NoError(t, err)
	require.Equal(t, config.SDWAN{
		Enabled: true, Interval: 30 * time.Second, StatusNamespace: "sdewan-system", PlainHTTP: true, Events: true,
		ServiceRules: config.ServiceRulesOff,
	}, c.SDWAN)
	_, err = place{}.load(t)
	require.ErrorContains(t, err, "ovn-nb (default): expected the address of the Northbound database")
}

func TestSDWANSettingsThatAreNone(t *testing.T) {
	for args, want := range map[string]string{
		"--sdewan-interval 0":               "sdewan-interval (flag --sdewan-interval): \"0\": expected a duration",
		"--sdewan-status-namespace A":       "up to 63 characters of a-z",
		"--sdewan-service-rules some":       "one of off, labelled, all",
		"--sdewan-service-purpose cnf":      "sdewan-service-purpose (flag --sdewan-service-purpose): needs sdewan-service-rules all",
		"--sdewan-service-purpose not/good": "a label value",
	} {
		_, err := place{args: "--sdewan " + args}.load(t)
		require.ErrorContains(t, err, want)
	}
	_, err := place{args: "--sdewan --sdewan-service-rules all --sdewan-service-purpose cnf"}.load(t)
	require.NoError(t, err)
}
