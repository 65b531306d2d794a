// The oracle builds KEDA's own scalers and prints what they answer.
//
// It reads one case a line from standard input, as JSON, and writes one answer a line, in the same order.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/redis/go-redis/v9"
	v2 "k8s.io/api/autoscaling/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
)

// Cases that are answered at once.
const workers = 8

// How long a case may take: constructors that connect do not all honour a context.
const limit = 20 * time.Second

// How long a request of a scaler may take.
const requestLimit = 3 * time.Second

type testCase struct {
	Name           string            `json:"name"`
	Type           string            `json:"type"`
	Metadata       map[string]string `json:"metadata"`
	Auth           map[string]string `json:"auth"`
	Env            map[string]string `json:"env"`
	PodIdentity    string            `json:"podIdentity"`
	MetricType     string            `json:"metricType"`
	TriggerIndex   int               `json:"triggerIndex"`
	AsMetricSource bool              `json:"asMetricSource"`
	// Objects that the cluster has.
	Objects []object `json:"objects"`
	// How many readings to take. The answer has the last.
	Reads int `json:"reads"`
}

type answer struct {
	Name       string   `json:"name"`
	BuildError string   `json:"buildError,omitempty"`
	Metric     string   `json:"metric,omitempty"`
	TargetType string   `json:"targetType,omitempty"`
	Target     string   `json:"target,omitempty"`
	Reading    *reading `json:"reading,omitempty"`
}

type reading struct {
	Error  string   `json:"error,omitempty"`
	Values []string `json:"values,omitempty"`
	Active bool     `json:"active"`
}

func main() {
	ctrl.SetLogger(logr.Discard())
	redis.SetLogger(silentLogger{})
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type silentLogger struct{}

func (silentLogger) Printf(context.Context, string, ...any) {}

func run() error {
	cases, err := readCases()
	if err != nil {
		return err
	}
	answers := make([]answer, len(cases))
	next := make(chan int)
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for index := range next {
				answers[index] = answerInTime(cases[index])
			}
		})
	}
	for index := range cases {
		next <- index
	}
	close(next)
	done.Wait()
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	for _, answer := range answers {
		if err := encoder.Encode(answer); err != nil {
			return err
		}
	}
	return nil
}

func readCases() ([]testCase, error) {
	var cases []testCase
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var read testCase
		if err := json.Unmarshal(lines.Bytes(), &read); err != nil {
			return nil, fmt.Errorf("case %d: %w", len(cases), err)
		}
		cases = append(cases, read)
	}
	return cases, lines.Err()
}

func answerInTime(asked testCase) answer {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	answered := make(chan answer, 1)
	go func() {
		defer func() {
			if panicked := recover(); panicked != nil {
				answered <- answer{Name: asked.Name, BuildError: fmt.Sprintf("panic: %v", panicked)}
			}
		}()
		answered <- answerTo(ctx, asked)
	}()
	select {
	case answer := <-answered:
		return answer
	case <-time.After(limit + time.Second):
		return answer{Name: asked.Name, BuildError: fmt.Sprintf("no answer within %s", limit)}
	}
}

func answerTo(ctx context.Context, asked testCase) answer {
	if asked.Type == "aws-cloudwatch" && asked.Reads > 0 {
		translator := translate(asked.Metadata["awsEndpoint"])
		defer translator.Close()
		asked.Metadata["awsEndpoint"] = translator.URL
	}
	scaler, err := build(ctx, asked)
	if err != nil {
		return answer{Name: asked.Name, BuildError: err.Error()}
	}
	defer scaler.Close(ctx)
	specs := scaler.GetMetricSpecForScaling(ctx)
	if len(specs) != 1 || specs[0].External == nil {
		return answer{Name: asked.Name, BuildError: fmt.Sprintf("it has %d metrics", len(specs))}
	}
	metric := specs[0].External
	result := answer{Name: asked.Name, Metric: metric.Metric.Name, TargetType: string(metric.Target.Type)}
	switch {
	case metric.Target.AverageValue != nil:
		result.Target = metric.Target.AverageValue.String()
	case metric.Target.Value != nil:
		result.Target = metric.Target.Value.String()
	}
	for range asked.Reads {
		result.Reading = read(ctx, scaler, metric.Metric.Name)
	}
	return result
}

func read(ctx context.Context, scaler scalers.Scaler, metric string) *reading {
	values, active, err := scaler.GetMetricsAndActivity(ctx, metric)
	if err != nil {
		return &reading{Error: err.Error()}
	}
	result := &reading{Active: active}
	for _, value := range values {
		result.Values = append(result.Values, value.Value.String())
	}
	return result
}

func build(ctx context.Context, asked testCase) (scalers.Scaler, error) {
	config := &scalersconfig.ScalerConfig{
		ScalableObjectName:      "web",
		ScalableObjectNamespace: "default",
		ScalableObjectType:      "ScaledObject",
		GlobalHTTPTimeout:       requestLimit,
		TriggerType:             asked.Type,
		TriggerMetadata:         asked.Metadata,
		ResolvedEnv:             asked.Env,
		AuthParams:              asked.Auth,
		PodIdentity:             kedav1alpha1.AuthPodIdentity{Provider: kedav1alpha1.PodIdentityProvider(asked.PodIdentity)},
		TriggerIndex:            asked.TriggerIndex,
		TriggerUniqueKey:        "ScaledObject-default-" + asked.Name,
		MetricType:              v2.MetricTargetType(asked.MetricType),
		AsMetricSource:          asked.AsMetricSource,
		Recorder:                silentRecorder{},
		ScaledObject:            &kedav1alpha1.ScaledObject{},
	}
	switch asked.Type {
	case "apache-kafka":
		return scalers.NewApacheKafkaScaler(ctx, config)
	case "aws-cloudwatch":
		return scalers.NewAwsCloudwatchScaler(ctx, config)
	case "aws-sqs-queue":
		return scalers.NewAwsSqsQueueScaler(ctx, config)
	case "kafka":
		return scalers.NewKafkaScaler(ctx, config)
	case "kubernetes-resource":
		return scalers.NewKubernetesResourceScaler(cluster{objects: asked.Objects}, config)
	case "mysql":
		return scalers.NewMySQLScaler(config)
	case "nats-jetstream":
		return scalers.NewNATSJetStreamScaler(config)
	case "postgresql":
		return scalers.NewPostgreSQLScaler(ctx, config)
	case "rabbitmq":
		return scalers.NewRabbitMQScaler(config)
	case "redis":
		return scalers.NewRedisScaler(ctx, false, false, config)
	case "redis-cluster":
		return scalers.NewRedisScaler(ctx, true, false, config)
	case "redis-cluster-streams":
		return scalers.NewRedisStreamsScaler(ctx, true, false, config)
	case "redis-sentinel":
		return scalers.NewRedisScaler(ctx, false, true, config)
	case "redis-sentinel-streams":
		return scalers.NewRedisStreamsScaler(ctx, false, true, config)
	case "redis-streams":
		return scalers.NewRedisStreamsScaler(ctx, false, false, config)
	default:
		return nil, fmt.Errorf("no scaler found for type: %s", asked.Type)
	}
}
