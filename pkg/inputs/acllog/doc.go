// Package acllog reads the lines that ovn-controller writes for packets that logged ACLs match (acl_log, ovn-controller(8)).
//
// It accepts the lines of a log file, of a container and of journalctl, follows a file through rotation, and reads lines of
// any length and content in bounded memory. Names of ACLs are chosen by others: they are returned as they are, never trusted.
package acllog
