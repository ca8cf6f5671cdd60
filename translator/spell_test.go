package translator_test

import "fmt"

func spell[T any](list []T) string { return fmt.Sprintf("%+v", list) }
