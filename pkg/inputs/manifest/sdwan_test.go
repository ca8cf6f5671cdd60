package manifest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// sdwan is a document that declares an SD-WAN resource of the namespace shop.
func sdwan(kind, name, spec string) string {
	return "---\napiVersion: batch.sdewan.akraino.org/v1alpha1\nkind: " + kind +
		"\nmetadata: {name: " + name + ", namespace: shop, labels: {sdewanPurpose: cnf1}}\nspec: " + spec + "\n"
}

// site is the spec of an IpsecSite with a way to authenticate.
func site(authentication string) string {
	return "{remote: 10.0.0.1, " + authentication + ", crypto_proposal: [p], connections: [" +
		"{name: a, conn_type: tunnel, mode: start, local_subnet: 10.1.0.0/24}]}"
}

func TestSamplesOfSDWANResources(t *testing.T) {
	dir := "../../apis/sdewan/v1alpha1/testdata/samples"
	d, err := LoadDirectory(dir, Options{}, quiet())
	require.NoError(t, err)
	require.Equal(t, []string{
		"cnfnat.yaml: document 1: CNFNAT/default/nat-sample: spec.dest_ip: Required value: DNAT requires dest_ip or dest_port, the new destination",
	}, slices.DeleteFunc(faults(d, dir), func(s string) bool { return strings.Contains(s, "also declared in") }))
	kinds := map[string]bool{"CNFNAT": true}
	for _, ref := range d.Refs() {
		if source.IsSDWAN(ref.Kind) {
			kinds[ref.Kind] = true
			o, ok := d.Get(ref)
			require.True(t, ok)
			r, _, known := v1alpha1.ResourceOf(o)
			require.True(t, known)
			require.Equal(t, ref.Kind, r.Kind)
		}
	}
	require.Len(t, kinds, len(v1alpha1.Resources()))
}

func TestFaultySDWANResources(t *testing.T) {
	const at = "a.yaml: document 1: "
	for _, tc := range []struct{ name, content, want string }{
		{
			"a field that the kind does not have", sdwan("FirewallZone", "lan", "{network: [net1], extra_dest: x}"),
			"FirewallZone/shop/lan: spec.extra_dest: unknown field",
		},
		{
			"a value of the wrong type", sdwan("FirewallRule", "r", "{dest_port: 80}"),
			"FirewallRule/shop/r: spec.dest_port: expected a string, found 80",
		},
		{
			"a field that is missing", sdwan("Mwan3Rule", "r", "{policy: p, src_ip: '', src_port: '', dest_ip: '', dest_port: '', proto: '', family: '', sticky: ''}"),
			"Mwan3Rule/shop/r: spec.timeout: Required value",
		},
		{
			"no spec", strings.TrimSuffix(sdwan("Mwan3Policy", "p", "x"), "spec: x\n"),
			"Mwan3Policy/shop/p: spec: Required value",
		},
		{
			"a word that is not known", sdwan("FirewallRule", "r", "{target: DENY}"),
			`FirewallRule/shop/r: spec.target: Unsupported value: "DENY": supported values: "", "ACCEPT", "REJECT", "DROP", "MARK", "NOTRACK"`,
		},
		{
			"an invalid address", sdwan("FirewallRule", "r", "{src_ip: 10.0.0.256}"),
			`FirewallRule/shop/r: spec.src_ip: Invalid value: "10.0.0.256": must be an IPv4 address such as 10.0.0.1, or a prefix such as 10.0.0.0/24`,
		},
		{
			"what one field demands of another", sdwan("FirewallSNAT", "s", "{dest: wan}"),
			"FirewallSNAT/shop/s: spec.src_dip: Required value: SNAT requires src_dip, the new source address",
		},
		{
			"a number out of range", sdwan("Mwan3Policy", "p", "{members: [{network: a, metric: 0, weight: 1}]}"),
			"Mwan3Policy/shop/p: spec.members[0].metric: Invalid value: 0: should be greater than or equal to 1",
		},
		{
			"a network twice", sdwan("Mwan3Policy", "p", "{members: [{network: a, metric: 1, weight: 1}, {network: a, metric: 1, weight: 1}]}"),
			`Mwan3Policy/shop/p: spec.members[1]: Duplicate value: {"network":"a"}`,
		},
		{
			"a name that no object can have", sdwan("FirewallZone", "Lan_1", "{network: [net1]}"),
			"metadata.name: Invalid value",
		},
		{
			"a kind that the group does not have", sdwan("FirewallRoute", "r", "{}"),
			`kind: no matches for kind "FirewallRoute" in version "batch.sdewan.akraino.org/v1alpha1"`,
		},
		{
			"a version that the group does not have", strings.Replace(sdwan("FirewallZone", "lan", "{network: [net1]}"), "v1alpha1", "v1", 1),
			`apiVersion: no matches for kind "FirewallZone" in version "batch.sdewan.akraino.org/v1"; expected batch.sdewan.akraino.org/v1alpha1`,
		},
		{
			"a kind that the older group does not have",
			"apiVersion: sdewan.akraino.org/v1alpha1\nkind: Tunnel\nmetadata: {name: a}\n",
			`kind: no matches for kind "Tunnel" in version "sdewan.akraino.org/v1alpha1"`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := parseManifest("a.yaml", []byte(tc.content), Options{})
			require.Len(t, problems(m), 1)
			require.True(t, strings.HasPrefix(problems(m)[0], at+tc.want), problems(m)[0])
		})
	}
}

func TestFaultyResourceKeepsItsLastVersion(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", sdwan("FirewallRule", "r", "{target: DROP}"))
	d, err := LoadDirectory(dir, Options{}, quiet())
	require.NoError(t, err)
	write(t, dir, "a.yaml", sdwan("FirewallRule", "r", "{target: DENY}"))
	require.NoError(t, d.ReadOnce())
	require.Len(t, d.Problems(), 1)
	o, ok := d.Get(object.Ref{Kind: "FirewallRule", Namespace: "shop", Name: "r"})
	require.True(t, ok)
	require.Equal(t, v1alpha1.Target("DROP"), o.(*v1alpha1.FirewallRule).Spec.Target)
}

// TestOlderGroup reads what the design document shows in places.
func TestOlderGroup(t *testing.T) {
	old := func(kind string) string {
		return "---\napiVersion: sdewan.akraino.org/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + strings.ToLower(kind) + "}\n"
	}
	const connection = "{connection_name: a, type: tunnel, mode: start, "
	content := old("IpsecProposal") + "spec: {encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp4096}\n" +
		old("IpsecSite") + "spec: {remote: 10.0.0.1, authentication_method: psk, pre_shared_key: k, local_public_cert: , " +
		"crypto_proposal: [p], connections: [" + connection + "local_subnet: 10.1.0.0/24}]}\n" +
		old("IpsecHost") + "spec: {remote: 10.0.0.1, authentication_method: psk, pre_shared_key: k, crypto_proposal: [p], " +
		"connections: [" + connection + "local_sourceip: '%config'}]}\n" +
		"---\napiVersion: sdewan.akraino.org/v1alpha1\nkind: IpsecHostList\nitems: [{metadata: {name: listed}, spec: {remote: 10.0.0.1, " +
		"authentication_method: psk, pre_shared_key: k, crypto_proposal: [p], connections: [" + connection + "local_sourceip: '%config'}]}}]\n"
	m := parseManifest("a.yaml", []byte(content), Options{})
	require.Empty(t, problems(m))
	require.Len(t, m.entries, 4)
	require.IsType(t, &v1alpha1.IpsecProposal{}, m.entries[0].object)
	s, ok := m.entries[1].object.(*v1alpha1.IpsecSite)
	require.True(t, ok)
	require.Equal(t, "a", string(s.Spec.Connections[0].Name))
	require.Equal(t, "tunnel", s.Spec.Connections[0].ConnType)
	for _, e := range m.entries[2:] {
		h, ok := e.object.(*v1alpha1.IpsecHost)
		require.True(t, ok)
		require.Equal(t, "a", string(h.Spec.Connections[0].Name))
	}

	both := strings.Replace(content, "{connection_name: a", "{connection_name: b, name: a", 1)
	require.Equal(t, []string{"a.yaml: document 2: IpsecSite/default/ipsecsite: spec.connections[0].connection_name: unknown field"},
		problems(parseManifest("a.yaml", []byte(both), Options{})))
	newer := strings.ReplaceAll(content, "sdewan.akraino", "batch.sdewan.akraino")
	require.NotEmpty(t, problems(parseManifest("a.yaml", []byte(newer), Options{})), "the newer group has the newer words")
}

func TestSDWANResourcesAreExported(t *testing.T) {
	content := sdwan("FirewallZone", "lan", "{network: [net1]}") +
		sdwan("IpsecSite", "branch", site("authentication_method: psk, pre_shared_key: hunter2")) +
		sdwan("IpsecSite", "office", site("authentication_method: pubkey, local_public_cert: UA==, shared_ca: UQ==, local_private_cert: aHVudGVyMg=="))
	d := Load("a.yaml", []byte(content), Options{}, quiet())
	require.Empty(t, d.Problems())
	text, err := manifestsOf(d, d.Refs())
	require.NoError(t, err)
	require.NotContains(t, string(text), "hunter2")
	require.NotContains(t, string(text), "aHVudGVyMg==")
	again := Load("b.json", text, Options{}, quiet())
	require.Empty(t, again.Problems())
	require.Equal(t, d.Refs(), again.Refs())
	o, _ := d.Get(object.Ref{Kind: "IpsecSite", Namespace: "shop", Name: "branch"})
	require.Equal(t, "hunter2", o.(*v1alpha1.IpsecSite).Spec.PreSharedKey, "the object itself stays as it is")
}

const planted = "hunter2"

// TestSecretsAreNotShown plants a secret wherever users put one, and searches all output for it.
func TestSecretsAreNotShown(t *testing.T) {
	secret := func(rest string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: branch, namespace: shop}\n" + rest + "\n"
	}
	for _, tc := range []struct{ name, content, want string }{
		{"a key that is no text", sdwan("IpsecSite", "a", site("authentication_method: psk, pre_shared_key: [hunter2]")), "spec.pre_shared_key: expected a string"},
		{"a key of two lines", sdwan("IpsecSite", "a", site(`authentication_method: psk, pre_shared_key: "hunter2\n"`)), "spec.pre_shared_key: Invalid value: must be a single line without quotation marks"},
		{"a key where its Secret is named", sdwan("IpsecSite", "a", site("authentication_method: psk, pre_shared_key_secret: hunter2")), "spec.pre_shared_key_secret: expected a mapping"},
		{"a key as the name of a Secret", sdwan("IpsecSite", "a", site("authentication_method: psk, pre_shared_key_secret: {name: hunter2!}")), "spec.pre_shared_key_secret.name: Invalid value: should match"},
		{"an invalid private key", sdwan("IpsecHost", "a", site("authentication_method: psk, local_private_cert: 'hunter2!'")), "spec.connections[0].local_subnet: unknown field"},
		{"text where base64 is due", secret("data: {psk: 'hunter2!'}"), "data[psk]: expected text in base64"},
		{"a number for text", secret("stringData: {psk: {hunter2: 1}}"), "stringData[psk]: expected a string"},
		{"a list for a mapping", secret("stringData: [hunter2]"), "stringData: expected a mapping"},
		{"text for a mapping", secret("data: hunter2"), "data: expected a mapping"},
		{"a key that no Secret can have", secret("stringData: {'a b': hunter2}"), "data[a b]: Invalid value: a valid config key"},
		{"a value that YAML takes for another", secret("stringData: {psk: *hunter2}"), "unknown anchor referenced"},
		{"a value that its tag does not fit", secret("stringData: {psk: !!int hunter2}"), "cannot decode !!str as a !!int"},
		{"a value given twice", secret("stringData: {psk: hunter2, psk: hunter2}"), "already set"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := Load("a.yaml", []byte(tc.content), Options{}, quiet())
			require.NotEmpty(t, d.Problems())
			require.NotContains(t, fmtProblems(d), planted)
			require.Contains(t, fmtProblems(d), tc.want)
		})
	}
}

func fmtProblems(s source.Source) string {
	var all []string
	for _, p := range s.Problems() {
		all = append(all, p.Error())
	}
	return strings.Join(all, "\n")
}

func TestSecretsOfADirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: branch, namespace: far}\ndata: {a: aHVudGVyMg==, b: YQ==}\nstringData: {b: hunter2}\n")
	d, err := LoadDirectory(dir, Options{}, quiet())
	require.NoError(t, err)
	require.Empty(t, d.Problems())
	require.Empty(t, d.Drain(), "no Secret is delivered, nor the namespace that only it is in")
	require.Empty(t, d.Refs())
	ref := object.Ref{Kind: kindSecret, Namespace: "far", Name: "branch"}
	_, ok := d.Get(ref)
	require.False(t, ok)
	text, err := manifestsOf(d, []object.Ref{ref})
	require.NoError(t, err)
	require.NotContains(t, string(text), "branch")

	got, err := d.Secret(t.Context(), "far", "branch")
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"a": []byte(planted), "b": []byte(planted)}, got)
	got["a"][0] = 'X'
	again, err := d.Secret(t.Context(), "far", "branch")
	require.NoError(t, err)
	require.Equal(t, planted, string(again["a"]), "callers may change the data")

	require.NoError(t, os.Remove(filepath.Join(dir, "a.yaml")))
	require.NoError(t, d.ReadOnce())
	_, err = d.Secret(context.Background(), "far", "branch")
	require.EqualError(t, err, "read Secret far/branch: there is no such Secret")
	require.ErrorIs(t, err, source.ErrNoSecret)
}

// manifestsOf is what WriteManifests writes.
func manifestsOf(source source.Source, refs []object.Ref) ([]byte, error) {
	var b bytes.Buffer
	err := Write(&b, source, refs, nil, nil)
	return b.Bytes(), err
}
