package nb

// The columns that refer to load balancers, of Logical_Switch and Logical_Router and of Load_Balancer_Group.
const (
	ColumnLoadBalancer      = "load_balancer"
	ColumnLoadBalancerGroup = "load_balancer_group"
	ColumnACLs              = "acls"
)

// ColumnSelection is Load_Balancer.selection_fields.
const ColumnSelection = "selection_fields"

// ColumnVariables is Chassis_Template_Var.variables.
const ColumnVariables = "variables"

// ColumnExternalIDs is the column for the notes of a row's owner.
const ColumnExternalIDs = "external_ids"

// ColumnKind is how a column is read and written.
type ColumnKind uint8

// The kinds of columns.
const (
	ColumnString ColumnKind = iota + 1
	ColumnOptional
	ColumnInt
	ColumnBool
	ColumnMap
	ColumnSet
	ColumnPairs // a map whose pairs are written one by one
)

// ColumnsOf lists the columns that we use in each table, with their kinds (ovn-nb.ovsschema).
func ColumnsOf(table string) map[string]ColumnKind {
	switch table {
	case TableACL:
		return map[string]ColumnKind{
			"action": ColumnString, "direction": ColumnString, "priority": ColumnInt, "match": ColumnString,
			"name": ColumnOptional, "options": ColumnMap, "external_ids": ColumnMap, "log": ColumnBool,
			"severity": ColumnOptional, "meter": ColumnOptional, "tier": ColumnInt,
		}
	case TableAddressSet:
		return map[string]ColumnKind{"name": ColumnString, "external_ids": ColumnPairs, "addresses": ColumnSet}
	case TableLoadBalancer:
		return map[string]ColumnKind{
			"name": ColumnString, "protocol": ColumnOptional, "options": ColumnMap, "external_ids": ColumnMap,
			"vips": ColumnPairs, ColumnSelection: ColumnSet,
		}
	case TableLoadBalancerGroup:
		return map[string]ColumnKind{"name": ColumnString, ColumnLoadBalancer: ColumnSet}
	case TableTemplateVars:
		return map[string]ColumnKind{"chassis": ColumnString, "external_ids": ColumnMap, ColumnVariables: ColumnPairs}
	case TableRouter:
		return map[string]ColumnKind{"name": ColumnString, ColumnLoadBalancer: ColumnSet, ColumnLoadBalancerGroup: ColumnSet}
	case TableSwitch:
		return map[string]ColumnKind{
			"name": ColumnString, ColumnLoadBalancer: ColumnSet, ColumnLoadBalancerGroup: ColumnSet, ColumnACLs: ColumnSet,
		}
	case TableMeter:
		return map[string]ColumnKind{
			"name": ColumnString, "unit": ColumnString, "fair": ColumnBool, "bands": ColumnSet, "external_ids": ColumnMap,
		}
	case TableMeterBand:
		return map[string]ColumnKind{
			"action": ColumnString, "rate": ColumnInt, "burst_size": ColumnInt, "external_ids": ColumnMap,
		}
	case TablePortGroup:
		return map[string]ColumnKind{
			"name": ColumnString, "external_ids": ColumnMap, "ports": ColumnSet, "acls": ColumnSet,
		}
	default:
		return nil
	}
}

// Tables lists the tables with our rows; those that others refer to come first.
func Tables() []string { return append(PolicyTables(), LoadBalancerTables()...) }

// PolicyTables lists those for policies.
func PolicyTables() []string {
	return []string{TableMeterBand, TableMeter, TableAddressSet, TableACL, TablePortGroup}
}

// LoadBalancerTables lists those for load balancers.
func LoadBalancerTables() []string {
	return []string{TableTemplateVars, TableLoadBalancer, TableLoadBalancerGroup}
}
