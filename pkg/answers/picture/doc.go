// Package picture draws connections between groups of ends: as a graph in the DOT language of Graphviz, and as SVG with a layout of its
// own. The same picture gives the same bytes.
package picture
