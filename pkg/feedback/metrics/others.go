package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// OtherCluster is what is known of another cluster whose pods policies may select.
type OtherCluster struct {
	Name string
	Pods int
	Read bool      // it has been read once
	Lost time.Time // since when it cannot be read; zero if it can
}

// peerClusters reports, at each scrape, what is known of other clusters.
type peerClusters struct {
	up, pods *prometheus.Desc
	list     func() []OtherCluster
}

// OtherClusters registers what is known of other clusters. It may be called once; list is called at each scrape.
func (m *Metrics) OtherClusters(list func() []OtherCluster) {
	label := []string{"cluster"}
	m.registry.MustRegister(&peerClusters{
		up:   prometheus.NewDesc("netloom_peer_up", "Whether another cluster can be read: 1, or 0 while its pods stay as they were.", label, nil),
		pods: prometheus.NewDesc("netloom_peer_pods", "Known pods of another cluster.", label, nil),
		list: list,
	})
}

// Describe implements prometheus.Collector.
func (p *peerClusters) Describe(c chan<- *prometheus.Desc) {
	c <- p.up
	c <- p.pods
}

// Collect implements prometheus.Collector.
func (p *peerClusters) Collect(c chan<- prometheus.Metric) {
	for _, peer := range p.list() {
		up := 0.0
		if peer.Read && peer.Lost.IsZero() {
			up = 1
		}
		c <- prometheus.MustNewConstMetric(p.up, prometheus.GaugeValue, up, peer.Name)
		c <- prometheus.MustNewConstMetric(p.pods, prometheus.GaugeValue, float64(peer.Pods), peer.Name)
	}
}
