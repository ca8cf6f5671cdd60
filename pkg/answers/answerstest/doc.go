// Package answerstest has the states that tests of answers are about; for tests only.
package answerstest
