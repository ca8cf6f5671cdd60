// Package readme runs the commands in README.md, to check that they work for users, and follows the links between documents.
package readme
