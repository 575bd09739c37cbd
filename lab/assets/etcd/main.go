// Command etcd is etcd's own server; its module has no main package that can be built from the registry alone.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
