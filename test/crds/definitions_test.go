package crds_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/test/crds"
)

// fields are upstream's fields of each spec. What follows a + is required; what follows a * is ours.
var fields = map[string]string{
	"Mwan3Policy": "+members",
	"Mwan3Rule":   "+policy +src_ip +src_port +dest_ip +dest_port +proto +family +sticky +timeout",
	"FirewallZone": "+network name masq masq_src masq_dest masq_allow_invalid mtu_fix input forward output family subnet " +
		"extra_src etra_dest",
	"FirewallRule": "name src src_ip src_mac src_port proto icmp_type dest dest_ip dest_port mark target set_mark set_xmark " +
		"family extra",
	"NetworkFirewallRule": "name +src src_ip src_mac src_port proto icmp_type dest dest_ip dest_port mark target set_mark " +
		"set_xmark family extra",
	"FirewallSNAT":       "name src src_ip src_dip src_mac src_port src_dport proto dest dest_ip dest_port mark target family",
	"FirewallDNAT":       "name src src_ip src_dip src_mac src_port src_dport proto dest dest_ip dest_port mark target family",
	"FirewallForwarding": "name +src +dest family",
	"IpsecProposal":      "+encryption_algorithm +hash_algorithm +dh_group name",
	"IpsecSite": "+remote +authentication_method +crypto_proposal +connections name type local_identifier remote_identifier " +
		"force_crypto_proposal pre_shared_key local_public_cert local_private_cert shared_ca " +
		"*pre_shared_key_secret *local_public_cert_secret *local_private_cert_secret *shared_ca_secret",
	"IpsecHost": "+remote +authentication_method +crypto_proposal +connections name type local_identifier remote_identifier " +
		"force_crypto_proposal pre_shared_key local_public_cert local_private_cert shared_ca " +
		"*pre_shared_key_secret *local_public_cert_secret *local_private_cert_secret *shared_ca_secret",
	"CNFNAT":            "name src src_ip src_dip src_port src_dport proto dest dest_ip dest_port +target index",
	"CNFRoute":          "+dst gw +dev table",
	"CNFRouteRule":      "src dst not prio fwmark table",
	"CNFService":        "+fullname port dport cidr",
	"CNFLocalService":   "+localservice localport +remoteservice remoteport",
	"CNFHubSite":        "+type site subnet hubip devicepip",
	"CNFStatus":         "",
	"SdewanApplication": "+podSelector appNamespace servicePort cnfPort",
}

// elements are the same for the lists of objects.
var elements = map[string]string{
	"Mwan3Policy members": "+network +metric +weight",
	"IpsecSite connections": "+name +conn_type +mode +local_subnet local_updown local_firewall remote_subnet remote_sourceip " +
		"remote_updown remote_firewall crypto_proposal mark if_id",
	"IpsecHost connections": "+name +conn_type +mode local_sourceip local_updown local_firewall remote_subnet remote_sourceip " +
		"remote_updown remote_firewall crypto_proposal mark if_id",
}

// statuses are the fields of statuses that are not SdewanStatus.
var statuses = map[string]string{
	"CNFService":      "sip port dport message *state *conditions",
	"CNFLocalService": "localip localport remoteips remoteport message *state *conditions",
	"CNFHubSite":      "type remoteips subnet hubip devicepip message *state *conditions",
	"CNFStatus":       "appliedGeneration appliedTime information *conditions",
}

const sdewanStatus = "appliedVersion appliedTime inSync state appliedGeneration message *conditions *pods"

// load reads the definitions of the SD-WAN kinds.
func load(t *testing.T) map[string]*crds.Definition {
	t.Helper()
	all := loadAll(t)
	for kind, d := range all {
		if d.Text.Spec.Group != v1alpha1.Group {
			delete(all, kind)
		}
	}
	return all
}

// loadAll reads every definition.
func loadAll(t *testing.T) map[string]*crds.Definition {
	t.Helper()
	all, err := crds.Load(os.DirFS("../../deploy/crds"))
	require.NoError(t, err)
	return all
}

func TestDefinitionsPassTheServersOwnRules(t *testing.T) {
	for kind, d := range loadAll(t) {
		t.Run(kind, func(t *testing.T) {
			// Structural schemas, rules that compile and cost little, defaults that pass them, columns, names.
			require.Empty(t, validation.ValidateCustomResourceDefinition(t.Context(), d.Defaulted))
		})
	}
}

func TestDefinitionsMatchTheTypes(t *testing.T) {
	all := load(t)
	require.Len(t, all, len(v1alpha1.Resources()))
	taken := map[string]string{}
	take := func(name, kind string) {
		require.NotContains(t, taken, name, kind)
		taken[name] = kind
	}
	for _, r := range v1alpha1.Resources() {
		require.Contains(t, all, r.Kind)
		spec := all[r.Kind].Text.Spec
		require.Equal(t, r.Plural+"."+v1alpha1.Group, all[r.Kind].Text.Name)
		require.Equal(t, v1alpha1.Group, spec.Group)
		require.Equal(t, r.Plural, spec.Names.Plural)
		require.Equal(t, strings.ToLower(r.Kind), spec.Names.Singular)
		require.Equal(t, r.Kind+"List", spec.Names.ListKind)
		require.Equal(t, []string{"sdewan"}, spec.Names.Categories)
		require.Equal(t, apiextensionsv1.NamespaceScoped, spec.Scope)
		require.Len(t, spec.Names.ShortNames, 1, r.Kind)
		take(spec.Names.Plural, r.Kind)
		take(spec.Names.Singular, r.Kind)
		take(spec.Names.ShortNames[0], r.Kind)

		require.Len(t, spec.Versions, 1)
		v := spec.Versions[0]
		require.Equal(t, v1alpha1.Version, v.Name)
		require.True(t, v.Served && v.Storage)
		require.NotNil(t, v.Subresources.Status)
		var columns []string
		for _, c := range v.AdditionalPrinterColumns {
			columns = append(columns, c.Name)
		}
		if r.Kind == "CNFStatus" {
			require.Equal(t, []string{"Applied", "Age"}, columns)
		} else {
			require.Equal(t, []string{"CNF", "State", "Age", "Message"}, columns)
		}
	}
}

func TestFieldsAreUpstreams(t *testing.T) {
	for kind, d := range load(t) {
		t.Run(kind, func(t *testing.T) {
			root := d.Text.Spec.Versions[0].Schema.OpenAPIV3Schema
			spec := root.Properties["spec"]
			require.ElementsMatch(t, names(fields[kind], "+"), spec.Required)
			require.ElementsMatch(t, names(fields[kind], ""), keys(spec.Properties))
			for path, want := range elements {
				if of, list, _ := strings.Cut(path, " "); of == kind {
					items := spec.Properties[list].Items.Schema
					require.ElementsMatch(t, names(want, "+"), items.Required)
					require.ElementsMatch(t, names(want, ""), keys(items.Properties))
				}
			}
			want, own := statuses[kind]
			if !own {
				want = sdewanStatus
			}
			status := root.Properties["status"]
			require.ElementsMatch(t, names(want, ""), keys(status.Properties))
			require.Empty(t, status.Required)
			require.Equal(t, "map", *status.Properties["conditions"].XListType)
			require.Equal(t, kind != "CNFStatus", slices.Contains(root.Required, "spec"))
		})
	}
}

func TestEveryFieldOfASpecIsBounded(t *testing.T) {
	for kind, d := range load(t) {
		t.Run(kind, func(t *testing.T) {
			bounded(t, "spec", d.Text.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"])
		})
	}
}

// bounded checks that lists, maps and strings have limits. The values of a map of strings are limited by a rule.
func bounded(t *testing.T, path string, s apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	switch s.Type {
	case "string":
		assert.True(t, s.MaxLength != nil || len(s.Enum) > 0, path)
	case "array":
		assert.NotNil(t, s.MaxItems, path)
		bounded(t, path+"[]", *s.Items.Schema)
	case "object":
		assert.Equal(t, s.AdditionalProperties != nil, s.MaxProperties != nil, path)
		assert.Equal(t, s.AdditionalProperties != nil, len(s.XValidations) > 0 && len(s.Properties) == 0, path)
	}
	for name := range s.Properties {
		bounded(t, path+"."+name, s.Properties[name])
	}
}

func TestEveryFieldIsDescribed(t *testing.T) {
	for kind, d := range loadAll(t) {
		described(t, kind, *d.Text.Spec.Versions[0].Schema.OpenAPIV3Schema)
	}
}

// described requires a description of s and all below it. Metadata is described by the server.
func described(t *testing.T, path string, s apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	require.True(t, s.Description != "" || strings.HasSuffix(path, ".metadata"), path)
	require.NotContains(t, s.Description, "TODO", path)
	for name, p := range s.Properties {
		described(t, path+"."+name, p)
	}
	if s.Items != nil && s.Items.Schema != nil && len(s.Items.Schema.Properties) > 0 {
		described(t, path+"[]", *s.Items.Schema)
	}
}

// names are the words of a list, or those that begin with mark; signs are taken away.
func names(list, mark string) []string {
	out := []string{}
	for _, w := range strings.Fields(list) {
		if strings.HasPrefix(w, mark) {
			out = append(out, strings.TrimLeft(w, "+*"))
		}
	}
	return out
}

func keys(m map[string]apiextensionsv1.JSONSchemaProps) []string {
	out := []string{}
	for k := range m {
		out = append(out, k)
	}
	return out
}
