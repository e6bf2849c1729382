// The peer: nats.go's Consume with an Ack for each message, as its users write it.
// usage: consume URL STREAM CONSUMER COUNT; prints one line of JSON. The consumer is there already.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const pullMaxMessages = 10000

func main() {
	url, stream, consumer := os.Args[1], os.Args[2], os.Args[3]
	count, err := strconv.Atoi(os.Args[4])
	must(err)
	connection, err := nats.Connect(url)
	must(err)
	defer connection.Close()
	js, err := jetstream.New(connection)
	must(err)
	context := context.Background()
	handle, err := js.Consumer(context, stream, consumer)
	must(err)

	done := make(chan struct{})
	seen, size := 0, 0
	startedAt, cpuBefore := time.Now(), cpuSeconds()
	consuming, err := handle.Consume(func(message jetstream.Msg) {
		seen++
		size += len(message.Data())
		must(message.Ack())
		if seen == count {
			close(done)
		}
	}, jetstream.PullMaxMessages(pullMaxMessages))
	must(err)
	<-done
	must(connection.Flush())
	cpu := cpuSeconds() - cpuBefore
	for {
		info, err := handle.Info(context)
		must(err)
		if info.NumAckPending == 0 && info.NumPending == 0 {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	took := time.Since(startedAt).Seconds()
	consuming.Stop()
	must(json.NewEncoder(os.Stdout).Encode(map[string]any{"messages": seen, "bytes": size, "seconds": took, "cpu_seconds": cpu}))
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	seconds := func(value syscall.Timeval) float64 { return float64(value.Sec) + float64(value.Usec)/1e6 }
	return seconds(usage.Utime) + seconds(usage.Stime)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
