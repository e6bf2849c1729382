// Command probe is what the tests of a node run in pods: it serves, asks, and prints what it may do.
//
//	probe serve :8080 TEXT    answers every request with TEXT
//	probe get URL             prints the answer, once there is one
//	probe rights              prints user, seccomp mode, and whether the root filesystem can be written
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

const patience = 30 * time.Second // Services come into force a moment after their pods

func main() {
	switch command, rest := os.Args[1], os.Args[2:]; command {
	case "serve":
		serve(rest[0], rest[1])
	case "get":
		get(rest[0])
	case "rights":
		rights()
	default:
		log.Fatalf("probe: unknown command %q", command)
	}
}

func serve(address, text string) {
	answer := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, text) }
	log.Fatal(http.ListenAndServe(address, http.HandlerFunc(answer)))
}

func get(url string) {
	client := http.Client{Timeout: 2 * time.Second}
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		response, err := client.Get(url)
		if err == nil {
			io.Copy(os.Stdout, response.Body)
			return
		}
		if time.Now().After(deadline) {
			log.Fatal(err)
		}
	}
}

func rights() {
	fmt.Println("user", os.Getuid())
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if name, value, _ := strings.Cut(line, ":"); name == "Seccomp" {
			fmt.Println("seccomp", strings.TrimSpace(value))
		}
	}
	fmt.Println("write:", os.WriteFile("/written", nil, 0o600))
}
