// Package bucket decides who may write objects of which bucket.
//
// The label sdewan-bucket-type of an SD-WAN object says which bucket it is in. Roles say in an annotation which buckets of
// which resources those may write who are bound to them:
//
//	sdewan-bucket-type-permission: '{"mwan3rules": ["app-intent", "k8s-*"], "firewall*": ["app-intent"]}'
//
// This narrows what RBAC allows and never widens it: whoever asks here has passed RBAC already. Verbs are RBAC's business,
// so the rules of a role are not looked at. Bindings count as they do for RBAC: those of a namespace there only, whether they
// name a Role or a ClusterRole, and ClusterRoleBindings everywhere; subjects are users, groups and service accounts.
//
// Grants keeps roles and bindings by their subjects, so that a decision looks at what concerns its user and at nothing else.
// What cannot be read grants nothing.
package bucket
