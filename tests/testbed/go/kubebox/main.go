// Command kubebox is a Kubernetes control plane, a node and kubectl in one static binary, so that tests can run
// the real thing where no prebuilt Kubernetes can be downloaded.
//
// The component is chosen by the name that the binary is called by (a symbolic link), or by the first argument:
// "kubebox kube-apiserver --help". It knows nothing of Penstock; tests/testbed starts it.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

const usage = "usage: kubebox etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubelet|kube-proxy|kubectl [flags]"

func main() {
	name := filepath.Base(os.Args[0])
	if name == "kubebox" {
		if len(os.Args) < 2 {
			fmt.Fprintln(os.Stderr, usage)
			os.Exit(2)
		}
		os.Args = os.Args[1:]
		name = os.Args[0]
	}
	if name == "etcd" { // not a cobra command: it parses the arguments and exits by itself
		etcdmain.Main(os.Args)
		return
	}
	command := component(name)
	if command == nil {
		fmt.Fprintf(os.Stderr, "kubebox: unknown component %q\n%s\n", name, usage)
		os.Exit(2)
	}
	os.Exit(cli.Run(command))
}

// component returns the command of that name, or nil. Only the one asked for is built: the constructors register
// flags and metrics globally, and two of them in one process can disagree.
func component(name string) *cobra.Command {
	switch name {
	case "kube-apiserver":
		return apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		return controllers.NewControllerManagerCommand()
	case "kube-scheduler":
		return scheduler.NewSchedulerCommand()
	case "kubelet":
		return kubelet.NewKubeletCommand(context.Background())
	case "kube-proxy":
		return proxy.NewProxyCommand()
	case "kubectl":
		return kubectl.NewDefaultKubectlCommand()
	}
	return nil
}
