package backends

// Successor is a backend that can take over what another one knows of the same target, for example because that may have lost
// its configuration and is configured from scratch.
type Successor interface {
	// Succeed takes over what before knows, if it is a backend of the same kind. It is called before the first plan, when
	// before is not used any more.
	Succeed(before Backend)
}
