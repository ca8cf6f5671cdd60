package tungsten_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	simulator "github.com/netloom/netloom/pkg/simulator/tungsten"
	"github.com/netloom/netloom/test/growth"
)

// caller sends requests to a server within the process.
type caller struct {
	t      testing.TB
	s      *simulator.Server
	client *http.Client
}

func newCaller(t testing.TB) *caller {
	t.Helper()
	s := simulator.New(simulator.Options{})
	transport := &http.Transport{DialContext: s.Dial, MaxIdleConnsPerHost: 32}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		s.Close()
	})
	return &caller{t: t, s: s, client: &http.Client{Transport: transport}}
}

// do sends a request and returns the status, 0 if no answer came, and the body.
func (c *caller) do(method, path, body string) (int, string) {
	req, err := http.NewRequestWithContext(c.t.Context(), method, "http://controller"+path, strings.NewReader(body))
	require.NoError(c.t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(out)
}

// must sends a request that succeeds and returns the UUID in the answer.
func (c *caller) must(method, path, body string) string {
	c.t.Helper()
	status, text := c.do(method, path, body)
	require.Equal(c.t, http.StatusOK, status, "%s %s %s: %s", method, path, body, text)
	_, rest, _ := strings.Cut(text, `"uuid":"`)
	uuid, _, _ := strings.Cut(rest, `"`)
	return uuid
}

func (c *caller) label(value string) string {
	return c.must(http.MethodPost, "/tags", fmt.Sprintf(`{"tag":{"fq_name":["x"],"tag_type_name":"label","tag_value":%q}}`, value))
}

func (c *caller) group(name string) string {
	return c.must(http.MethodPost, "/address-groups",
		fmt.Sprintf(`{"address-group":{"fq_name":["default-policy-management",%q],"parent_type":"policy-management"}}`, name))
}

// tags counts the tags of an address group.
func (c *caller) tags(group string) int {
	_, text := c.do(http.MethodGet, "/address-group/"+group+"?fields=tag_refs&exclude_hrefs=true", "")
	var out struct {
		Group struct {
			Tags []any `json:"tag_refs"`
		} `json:"address-group"`
	}
	require.NoError(c.t, json.Unmarshal([]byte(text), &out), text)
	return len(out.Group.Tags)
}

func TestConcurrentSetTagsOverwriteEachOther(t *testing.T) {
	c := newCaller(t)
	group := c.group("g")
	const n = 20
	ids := make([]string, n)
	for i := range ids {
		ids[i] = c.label(fmt.Sprint(i))
	}
	each := func(do func(i int)) {
		var work sync.WaitGroup
		for i := range n {
			work.Go(func() { do(i) })
		}
		work.Wait()
	}
	c.s.HoldSetTags(n)
	each(func(i int) {
		c.must(http.MethodPost, "/set-tag",
			fmt.Sprintf(`{"obj_type":"address-group","obj_uuid":%q,"label":{"is_global":true,"add_values":["%d"]}}`, group, i))
	})
	require.Equal(t, 1, c.tags(group))
	each(func(i int) {
		c.must(http.MethodPost, "/ref-update",
			fmt.Sprintf(`{"type":"address-group","uuid":%q,"ref-type":"tag","ref-uuid":%q,"operation":"ADD"}`, group, ids[i]))
	})
	require.Equal(t, n, c.tags(group))
}

func TestEveryStateBetweenTwoWritesIsObserved(t *testing.T) {
	c := newCaller(t)
	var seen []string
	c.s.Observe(func(changes []simulator.Change) {
		var out []string
		for _, change := range changes {
			require.Equal(t, change.Event == "delete", change.Object == nil)
			require.True(t, change.Object == nil || bytes.Contains(change.Object, []byte(change.UUID)))
			out = append(out, change.Event+" "+change.Kind)
		}
		seen = append(seen, strings.Join(out, ", "))
	})
	env := c.must(http.MethodPost, "/tags", `{"tag":{"fq_name":["x"],"tag_type_name":"env","tag_value":"prod"}}`)
	group := c.group("g")
	c.must(http.MethodPut, "/address-group/"+group, `{"address-group":{"display_name":"x"}}`)
	status, _ := c.do(http.MethodPut, "/address-group/"+group, `{"address-group":{"tag_refs":[{"to":["nope"]}]}}`)
	require.Equal(t, http.StatusBadRequest, status)
	c.must(http.MethodDelete, "/tag/"+env, "")
	require.True(t, c.s.Vanish(group))
	require.Equal(t, []string{
		"create tag-type, create tag", "create address-group", "update address-group", "delete tag, delete tag-type", "delete address-group",
	}, seen)
	require.False(t, c.s.Vanish(group))
	require.Empty(t, c.s.Objects("tag"))
}

func TestARefusedWriteChangesNothing(t *testing.T) {
	c := newCaller(t)
	web := c.label("web")
	rule := c.must(http.MethodPost, "/firewall-rules", `{"firewall-rule":{"fq_name":["default-policy-management","r"],
		"parent_type":"policy-management","endpoint_1":{"tags":["label=web"]},"service":{"protocol":"tcp"}}}`)
	before := c.s.Objects("firewall-rule")
	for _, body := range []string{
		`{"firewall-rule":{"direction":">","endpoint_1":{"tags":["label=nope"]}}}`,
		`{"firewall-rule":{"direction":">","service":{"protocol":"6"}}}`,
		`{"firewall-rule":{"direction":">","service_group_refs":[{"to":["default-policy-management","nope"]}]}}`,
		`{"firewall-rule":{"direction":"<>","action_list":null}}`,
	} {
		status, text := c.do(http.MethodPut, "/firewall-rule/"+rule, body)
		require.GreaterOrEqual(t, status, 400, text)
		require.Equal(t, before, c.s.Objects("firewall-rule"), body)
	}
	status, _ := c.do(http.MethodDelete, "/tag/"+web, "")
	require.Equal(t, http.StatusConflict, status)
}

func TestFaults(t *testing.T) {
	for fault, want := range map[simulator.Fault]struct {
		status  int
		created bool
	}{
		simulator.NoFault: {200, true}, simulator.Fail: {500, false}, simulator.FailAfter: {500, true}, simulator.Cut: {0, false},
		simulator.CutAfter: {0, true}, simulator.Conflict: {409, false}, simulator.NotFound: {404, false},
		simulator.Unavailable: {503, false}, simulator.Restart: {0, false},
	} {
		c := newCaller(t)
		c.s.Inject(simulator.At(2, fault))
		c.label("first")
		status, text := c.do(http.MethodPost, "/tags", `{"tag":{"fq_name":["x"],"tag_type_name":"label","tag_value":"second"}}`)
		require.Equal(t, want.status, status, text)
		tags := 1
		if want.created {
			tags = 2
		}
		require.Len(t, c.s.Objects("tag"), tags, fault)
		require.Equal(t, simulator.Stats{Writes: 2}, c.s.Stats())
	}
}

// TestGrowth shows that writes cost what they change, whatever is stored and however many objects refer to one.
func TestGrowth(t *testing.T) {
	growth.NearlyLinear(t, 800, func(n int) func() {
		s := simulator.New(simulator.Options{})
		t.Cleanup(s.Close)
		do := func(method, path, body string) string {
			r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			require.Equal(t, http.StatusOK, w.Code, w.Body.String())
			_, rest, _ := strings.Cut(w.Body.String(), `"uuid":"`)
			uuid, _, _ := strings.Cut(rest, `"`)
			return uuid
		}
		const manager = `"parent_type":"policy-management","fq_name":["default-policy-management",`
		web := do(http.MethodPost, "/tags", `{"tag":{"fq_name":["x"],"tag_type_name":"label","tag_value":"web"}}`)
		policy := do(http.MethodPost, "/firewall-policys", `{"firewall-policy":{`+manager+`"p"]}}`)
		rules := make([]string, n)
		for i := range rules {
			rules[i] = do(http.MethodPost, "/firewall-rules", fmt.Sprintf(
				`{"firewall-rule":{%s"r%d"],"service":{"protocol":"tcp"},"endpoint_1":{"tags":["label=web"]}}}`, manager, i))
		}
		return func() {
			for i, rule := range rules {
				do(http.MethodPost, "/ref-update", fmt.Sprintf(
					`{"type":"firewall-policy","uuid":%q,"ref-type":"firewall-rule","ref-uuid":%q,"operation":"ADD","attr":{"sequence":"%05d"}}`,
					policy, rule, i))
				group := do(http.MethodPost, "/address-groups", fmt.Sprintf(`{"address-group":{%s"g%d"]}}`, manager, i))
				do(http.MethodPost, "/ref-update", `{"type":"address-group","uuid":"`+group+`","ref-type":"tag","ref-uuid":"`+web+`","operation":"ADD"}`)
				if i%2 == 0 {
					do(http.MethodPost, "/ref-update", fmt.Sprintf(
						`{"type":"firewall-policy","uuid":%q,"ref-type":"firewall-rule","ref-uuid":%q,"operation":"DELETE"}`, policy, rule))
					do(http.MethodDelete, "/firewall-rule/"+rule, "")
				}
			}
		}
	})
}

func TestPodsHaveInterfaces(t *testing.T) {
	c := newCaller(t)
	web := simulator.Pod{
		Cluster: "k8s", Namespace: "shop", Name: "web-0", UID: "aaaaaaaa-0000-0000-0000-000000000001",
		Addrs: []netip.Addr{netip.MustParseAddr("10.244.0.5"), netip.MustParseAddr("fd00::5")},
	}
	require.NoError(t, c.s.AddPod(web))
	require.Error(t, c.s.AddPod(web), "it is there already")
	other := web
	other.Name, other.UID = "web-1", "aaaaaaaa-0000-0000-0000-000000000002"
	require.ErrorContains(t, c.s.AddPod(other), "already in use")
	require.Len(t, c.s.Objects("instance-ip"), 2)
	status, text := c.do(http.MethodGet, "/virtual-machine-interfaces?back_ref_id="+web.UID+"&fields=annotations", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, `{"key":"index","value":"0/1"}`)
	c.s.RemovePod(web.UID)
	c.s.RemovePod(web.UID)
	c.s.RemovePod(other.UID)
	for _, kind := range []string{"virtual-machine", "virtual-machine-interface", "instance-ip"} {
		require.Empty(t, c.s.Objects(kind), kind)
	}
	require.NoError(t, c.s.AddPod(web))
}
