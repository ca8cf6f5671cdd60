// Package monitoring checks what deploy/ gives to Prometheus and Grafana: the alerts with promtool, which also runs the unit tests in
// testdata, and the dashboards with the types of Grafana's schema. It is a separate module, because promtool and Grafana's types need much
// that nothing else here does.
package monitoring
