// Package bucket decides who may write the objects of a bucket.
//
// The label sdewan-bucket-type of an SD-WAN object names its bucket. Roles have an annotation with the buckets and
// resources that their subjects may write:
//
//	sdewan-bucket-type-permission: '{"mwan3rules": ["app-intent", "k8s-*"], "firewall*": ["app-intent"]}'
//
// This narrows what RBAC allows and never widens it: a request that gets here has already passed RBAC. Verbs are left to
// RBAC, so the rules of a role are ignored. Bindings count as they do for RBAC: those of a namespace there only, whether
// they name a Role or a ClusterRole, and ClusterRoleBindings everywhere; subjects are users, groups and service accounts.
//
// Grants indexes roles and bindings by subject, so that a decision looks only at those of its user. What cannot be read
// grants nothing.
package bucket
