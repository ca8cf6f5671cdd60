package nbtrace_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

// The same database in the three forms: a switch with a port and an ACL.
const (
	tablesDump = `{
 "Logical_Switch_Port": [{"_uuid": ["uuid", "p"], "name": "p0", "type": "", "addresses": "0a:00:00:00:00:01 10.0.0.1", "external_ids": ["map", [["pod", "shop/web"]]], "dynamic_addresses": ["set", []]}],
 "Logical_Switch": [{"_uuid": ["uuid", "s"], "name": "s0", "ports": ["uuid", "p"], "acls": ["set", [["uuid", "a"]]], "load_balancer": ["set", []]}],
 "ACL": [{"_uuid": ["uuid", "a"], "action": "drop", "direction": "to-lport", "match": "ip", "name": ["set", []], "priority": 7, "tier": 2, "options": ["map", []], "external_ids": ["map", []]}],
 "Port_Group": [], "Address_Set": [], "Logical_Router": [], "Load_Balancer": [],
 "NB_Global": [{"_uuid": ["uuid", "n"], "options": ["map", [["default_acl_drop", "true"]]]}]
}`
	clientDump = `{"caption":"ACL table","data":[[["uuid","a"],"drop","to-lport","ip",["set",[]],7,2,["map",[]],["map",[]]]],"headings":["_uuid","action","direction","match","name","priority","tier","options","external_ids"]}
{"caption":"Logical_Switch_Port table","data":[[["uuid","p"],"p0","","0a:00:00:00:00:01 10.0.0.1",["map",[["pod","shop/web"]]]]],"headings":["_uuid","name","type","addresses","external_ids"]}
{"caption":"Logical_Switch table","data":[[["uuid","s"],"s0",["uuid","p"],["uuid","a"],["set",[]]]],"headings":["_uuid","name","ports","acls","load_balancer"]}
{"caption":"Port_Group table","data":[],"headings":["_uuid"]}
{"caption":"Address_Set table","data":[],"headings":["_uuid"]}
{"caption":"Logical_Router table","data":[],"headings":["_uuid"]}
{"caption":"Load_Balancer table","data":[],"headings":["_uuid"]}
{"caption":"NB_Global table","data":[[["uuid","n"],["map",[["default_acl_drop","true"]]]]],"headings":["_uuid","options"]}
`
	backupDump = `OVSDB JSON 51 0
{"name":"OVN_Northbound","version":"7.11.0","tables":{}}
OVSDB JSON 400 0
{"_date":1,"ACL":{"a":{"action":"drop","direction":"to-lport","match":"ip","priority":7,"tier":2}},"Logical_Switch_Port":{"p":{"name":"p0","addresses":"0a:00:00:00:00:01 10.0.0.1","external_ids":["map",[["pod","shop/web"]]]}},"Logical_Switch":{"s":{"name":"s0","ports":["uuid","p"],"acls":["uuid","a"]}},"NB_Global":{"n":{"options":["map",[["default_acl_drop","true"]]]}}}
`
)

func TestReadDumpReadsEveryForm(t *testing.T) {
	for _, tc := range []struct{ name, text string }{
		{"an object of tables", tablesDump}, {"ovsdb-client dump", clientDump}, {"ovsdb-client backup", backupDump},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := nbtrace.ReadDump(strings.NewReader(tc.text))
			require.NoError(t, err)
			require.Equal(t, []nbtrace.Switch{{Name: "s0", Ports: []string{"p0"}, ACLs: []string{"a"}}}, r.Switches)
			require.Equal(t, []string{"0a:00:00:00:00:01 10.0.0.1"}, r.Ports[0].Addresses)
			require.Equal(t, map[string]string{"pod": "shop/web"}, r.Ports[0].ExternalIDs)
			require.Len(t, r.ACLs, 1)
			a := r.ACLs[0]
			require.Equal(t, []any{"a", "drop", "to-lport", "ip", 7, 2}, []any{a.UUID, a.Action, a.Direction, a.Match, a.Priority, a.Tier})
			require.Equal(t, "true", r.Options["default_acl_drop"])
		})
	}
}

func TestReadDumpRefusesWhatIsNotWhole(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"nothing", "", "no table"},
		{"no JSON", "ACL table", "invalid character"},
		{"a dump that ends early", clientDump[:300], "unexpected EOF"},
		{"a table missing", strings.Replace(tablesDump, `"Port_Group"`, `"Other"`, 1), "no table Port_Group"},
		{"a column missing", strings.Replace(tablesDump, `"match"`, `"other"`, 1), "ACL {a}: no column match"},
		{"a row too short", strings.Replace(clientDump, `"drop",`, ``, 1), "a row of 8 cells under 9 headings"},
		{"a database in use", backupDump + "OVSDB JSON 2 0\n{}\n", "3 records"},
		{"another database", strings.Replace(backupDump, "OVN_Northbound", "OVN_Southbound", 1), `a backup of "OVN_Southbound"`},
		{"a member of a cluster", "OVSDB CLUSTER 12 0\n{}\n", "invalid character"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := nbtrace.ReadDump(strings.NewReader(tc.text))
			require.ErrorContains(t, err, tc.want)
		})
	}
}
