// Package sheet writes tables for spreadsheets.
package sheet
