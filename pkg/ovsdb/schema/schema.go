package schema

import _ "embed"

//go:embed ovn-nb-23.03.ovsschema
var nb2303 string

//go:embed ovn-nb-25.03.ovsschema
var nb2503 string

// NB2303 is the Northbound schema of OVN 23.03, version 7.0.0: no tier and no pass in ACL.
func NB2303() []byte { return []byte(nb2303) }

// NB2503 is the Northbound schema of OVN 25.03, version 7.11.0: ACL has tier, pass and sampling.
func NB2503() []byte { return []byte(nb2503) }
