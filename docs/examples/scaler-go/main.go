// A complete external scaler: it scales by the length of a queue, which it reads from a file.
//
// The file contains the length, optionally followed by a target that replaces the trigger's: "35" or "35 20".
// Parameters in the trigger's metadata: targetLength (default 10), activationLength (default 0).
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	pb "kedge.example/scaler/externalscaler"
)

const metric = "queue-length"

// How often an open stream reads the queue.
const streamInterval = 200 * time.Millisecond

func main() {
	queue := flag.String("queue", "", "the file with the length of the queue")
	listen := flag.String("listen", "0.0.0.0:9090", "the address to listen on")
	cert := flag.String("tls-cert", "", "a PEM file with a certificate: enables TLS")
	key := flag.String("tls-key", "", "a PEM file with the key of the certificate")
	flag.Parse()
	if *queue == "" || (*cert == "") != (*key == "") {
		log.Fatal("give --queue, and --tls-cert and --tls-key together or not at all")
	}

	var options []grpc.ServerOption
	if *cert != "" {
		identity, err := credentials.NewServerTLSFromFile(*cert, *key)
		if err != nil {
			log.Fatal(err)
		}
		options = append(options, grpc.Creds(identity))
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", listener.Addr())

	stopping, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	server := grpc.NewServer(options...)
	pb.RegisterExternalScalerServer(server, &scaler{queue: *queue, stopping: stopping})
	go func() {
		<-stopping.Done()
		server.GracefulStop()
	}()
	if err := server.Serve(listener); err != nil {
		log.Fatal(err)
	}
}

type scaler struct {
	pb.UnimplementedExternalScalerServer
	queue    string
	stopping context.Context
}

// readQueue reads the file. An unknown length is an error, never a zero: a zero would scale the target to zero.
func (s *scaler) readQueue() (numbers []float64, err error) {
	text, err := os.ReadFile(s.queue)
	if err != nil {
		return nil, status.Errorf(codes.Unavailable, "cannot read the queue: %v", err)
	}
	for _, word := range strings.Fields(string(text)) {
		number, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return nil, status.Errorf(codes.Unavailable, "the queue file contains %q, which is not a number", word)
		}
		numbers = append(numbers, number)
	}
	if len(numbers) == 0 {
		return nil, status.Error(codes.Unavailable, "the queue file is empty")
	}
	return numbers, nil
}

// parameter reads a number from the trigger's metadata.
func parameter(trigger *pb.ScaledObjectRef, name string, otherwise float64) (float64, error) {
	text, given := trigger.GetScalerMetadata()[name]
	if !given {
		return otherwise, nil
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, status.Errorf(codes.InvalidArgument, "`%s` is %q; write a number, as in \"10\"", name, text)
	}
	return number, nil
}

func (s *scaler) IsActive(_ context.Context, trigger *pb.ScaledObjectRef) (*pb.IsActiveResponse, error) {
	activation, err := parameter(trigger, "activationLength", 0)
	if err != nil {
		return nil, err
	}
	numbers, err := s.readQueue()
	if err != nil {
		return nil, err
	}
	return &pb.IsActiveResponse{Result: numbers[0] > activation}, nil
}

func (s *scaler) GetMetricSpec(_ context.Context, trigger *pb.ScaledObjectRef) (*pb.GetMetricSpecResponse, error) {
	target, err := parameter(trigger, "targetLength", 10)
	if err != nil {
		return nil, err
	}
	// The metric is known even while its value is not.
	if numbers, err := s.readQueue(); err == nil && len(numbers) > 1 {
		target = numbers[1]
	}
	spec := &pb.MetricSpec{MetricName: metric, TargetSizeFloat: target}
	return &pb.GetMetricSpecResponse{MetricSpecs: []*pb.MetricSpec{spec}}, nil
}

func (s *scaler) GetMetrics(_ context.Context, request *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
	if request.GetMetricName() != metric {
		return nil, status.Errorf(codes.NotFound, "there is no metric %q; there is %q", request.GetMetricName(), metric)
	}
	numbers, err := s.readQueue()
	if err != nil {
		return nil, err
	}
	// The float applies if it is above 0; for 0 the other field applies, and it is 0 too.
	value := &pb.MetricValue{MetricName: metric, MetricValueFloat: numbers[0]}
	return &pb.GetMetricsResponse{MetricValues: []*pb.MetricValue{value}}, nil
}

func (s *scaler) StreamIsActive(trigger *pb.ScaledObjectRef, stream pb.ExternalScaler_StreamIsActiveServer) error {
	var last *pb.IsActiveResponse
	return s.follow(stream.Context(), func() error {
		now, err := s.IsActive(stream.Context(), trigger)
		if err != nil || last != nil && last.Result == now.Result {
			return nil // An error changes nothing for the listener.
		}
		last = now
		return stream.Send(now)
	})
}

func (s *scaler) StreamMetricSpec(trigger *pb.ScaledObjectRef, stream pb.ExternalScaler_StreamMetricSpecServer) error {
	last := -1.0
	return s.follow(stream.Context(), func() error {
		now, err := s.GetMetricSpec(stream.Context(), trigger)
		if err != nil || last == now.MetricSpecs[0].TargetSizeFloat {
			return nil
		}
		last = now.MetricSpecs[0].TargetSizeFloat
		return stream.Send(now)
	})
}

// follow calls publish repeatedly, for as long as the caller listens and the scaler runs.
func (s *scaler) follow(listening context.Context, publish func() error) error {
	ticks := time.NewTicker(streamInterval)
	defer ticks.Stop()
	for {
		if err := publish(); err != nil {
			return err
		}
		select {
		case <-listening.Done():
			return listening.Err()
		case <-s.stopping.Done():
			return nil
		case <-ticks.C:
		}
	}
}
