package sdwan_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/sdwan"
	"github.com/netloom/netloom/pkg/feedback/sdwan/sdwantest"
	"github.com/netloom/netloom/pkg/object"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// overview is a CNFStatus as the API has it.
func (r *rig) overview(namespace, name string) v1alpha1.CNFStatusStatus {
	r.Helper()
	u := r.Stored(object.Ref{Kind: "CNFStatus", Namespace: namespace, Name: name})
	text, err := json.Marshal(u.Object)
	require.NoError(r, err)
	var o v1alpha1.CNFStatus
	require.NoError(r, json.Unmarshal(text, &o))
	return o.Status
}

func TestEveryPodIsShown(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.Options.StatusInterval = 30 * time.Second
		r.CNF("cnf-0", "10.0.0.1")
		hung := r.CNF("cnf-1", "10.0.0.2")
		r.CNF("cnf-2", "10.0.0.3", sdwantest.NotReady)
		r.Apply(sdwantest.Policy("both"))
		r.Apply(&v1alpha1.CNFStatus{ObjectMeta: metav1.ObjectMeta{Name: "mine"}})
		r.start()
		hung.Hang()
		r.After(time.Minute)

		all := r.overview(sdwan.DefaultStatusNamespace, sdwan.CNFStatusName)
		require.Equal(t, all.Information, r.overview("site", "mine").Information, "all are of the namespace")
		require.Len(t, all.Information, 3)
		require.Equal(t, v1alpha1.CNFInformation{
			Name: "cnf-1", Namespace: "site", Node: "node", Purpose: "cnf", IP: "10.0.0.2", Status: "Not Available",
		}, all.Information[1])
		require.Equal(t, "Not Available", all.Information[2].Status)
		require.Equal(t, "2 of 3 pods returned no report", all.Conditions[0].Message)
		var modules []struct{ Name string }
		require.NoError(t, json.Unmarshal([]byte(all.Information[0].Status), &modules))
		require.Len(t, modules, len([]string{"conntrack", "interface", "ipsec", "route", "rule", "wan"}))
		require.Positive(t, r.Metric("netloom_cnf_reports_total", "ok"))
		require.Positive(t, r.Metric("netloom_cnf_reports_total", "failed"))
		first := all.AppliedTime
		r.After(time.Minute)
		all = r.overview(sdwan.DefaultStatusNamespace, sdwan.CNFStatusName)
		require.True(t, first.Before(all.AppliedTime))
	})
}

func TestANamespaceSeesItsOwnPods(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.Options.StatusInterval = 30 * time.Second
		r.CNF("cnf-0", "10.0.0.1")
		r.CNF("cnf-0", "10.0.0.2", func(p *corev1.Pod) { p.Namespace = "elsewhere" })
		r.Apply(&v1alpha1.CNFStatus{ObjectMeta: metav1.ObjectMeta{Name: "mine"}})
		r.start()
		r.After(40 * time.Second)
		require.Len(t, r.overview(sdwan.DefaultStatusNamespace, sdwan.CNFStatusName).Information, 2)
		own := r.overview("site", "mine").Information
		require.Len(t, own, 1)
		require.Equal(t, "10.0.0.1", own[0].IP)
	})
}

func TestAReportIsBoundedAndShowsNoSecret(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.Options.StatusInterval = 30 * time.Second
		d, err := simulator.New(simulator.Options{}) // prints its keys where headers belong
		require.NoError(t, err)
		r.Place("10.0.0.1", d)
		r.CNF("cnf-0", "10.0.0.1")
		require.NoError(t, d.SetStatus("conntrack", "["+strings.Repeat(`{"protocol":"tcp","state":"ESTABLISHED"},`, 5000)+`{}]`))
		require.NoError(t, d.SetStatus("wan", `{"pre_shared_key":"hush"}`))
		r.Apply(&v1alpha1.IpsecProposal{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1alpha1.IpsecProposalSpec{
			EncryptionAlgorithm: "aes256", HashAlgorithm: "sha256", DHGroup: "modp4096",
		}})
		site := &v1alpha1.IpsecSite{ObjectMeta: metav1.ObjectMeta{Name: "s"}}
		site.Spec.Remote, site.Spec.AuthenticationMethod, site.Spec.PreSharedKey = "192.0.2.1", "psk", "hush-hush"
		site.Spec.CryptoProposal = []v1alpha1.Reference{"p"}
		site.Spec.Connections = []v1alpha1.IpsecSiteConnection{{
			IpsecConnection: v1alpha1.IpsecConnection{Name: "c", ConnType: "tunnel", Mode: "start"}, LocalSubnet: "10.1.0.0/24",
		}}
		r.Apply(site)
		r.start()
		r.After(40 * time.Second)
		report := r.overview(sdwan.DefaultStatusNamespace, sdwan.CNFStatusName).Information[0].Status
		require.NotContains(t, report, "hush")
		require.LessOrEqual(t, len(report), 16<<10)
		require.Contains(t, report, "of 5001 entries")
		require.Contains(t, report, `"up":"1"`)
		require.InDelta(t, 1, r.Metric("netloom_tunnels", `state="up"`), 0)
		require.InDelta(t, 1, r.Metric("netloom_tunnels_complete", ""), 0)

		d.Reset()
		require.NoError(t, d.SetStatus("ipsec", `{"InitConnection":"fail","details":[{"up":"0","connecting":"0"}]}`))
		r.After(time.Minute)
		require.InDelta(t, 0, r.Metric("netloom_tunnels_complete", ""), 0)
		require.Empty(t, d.Actions(), "a tunnel that is down does not restart the others")
	})
}

func TestNothingIsCollectedUnlessItIsAskedFor(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.CNF("cnf-0", "10.0.0.1")
		r.start()
		r.After(5 * time.Minute)
		require.Zero(t, r.Metric("netloom_cnf_reports_total", ""))
		for _, a := range r.Client.Actions() {
			require.NotEqual(t, "cnfstatuses", a.GetResource().Resource)
		}
	})
}
