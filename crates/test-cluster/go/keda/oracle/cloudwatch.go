package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"

	"github.com/aws/smithy-go/encoding/cbor"
)

// translate stands between KEDA's client of CloudWatch, which speaks CBOR, and a service that speaks JSON, as moto does. The
// caller closes the server.
func translate(service string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		status, answer, err := forward(service, request)
		if err != nil {
			http.Error(response, err.Error(), http.StatusBadGateway)
			return
		}
		response.Header().Set("Content-Type", "application/cbor")
		response.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
		response.WriteHeader(status)
		_, _ = response.Write(cbor.Encode(toCBOR("", answer)))
	}))
}

func forward(service string, request *http.Request) (int, any, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return 0, nil, err
	}
	asked, err := cbor.Decode(body)
	if err != nil {
		return 0, nil, err
	}
	question, err := json.Marshal(fromCBOR(asked))
	if err != nil {
		return 0, nil, err
	}
	forwarded, err := http.NewRequestWithContext(request.Context(), http.MethodPost, service, bytes.NewReader(question))
	if err != nil {
		return 0, nil, err
	}
	forwarded.Header.Set("Authorization", request.Header.Get("Authorization"))
	forwarded.Header.Set("Content-Type", "application/x-amz-json-1.0")
	forwarded.Header.Set("X-Amz-Target", "GraniteServiceVersion20100801."+path.Base(request.URL.Path))
	answered, err := http.DefaultClient.Do(forwarded)
	if err != nil {
		return 0, nil, err
	}
	defer answered.Body.Close()
	var answer any
	err = json.NewDecoder(answered.Body).Decode(&answer)
	return answered.StatusCode, answer, err
}

func fromCBOR(value cbor.Value) any {
	switch value := value.(type) {
	case cbor.Map:
		object := make(map[string]any)
		for name, inner := range value {
			object[name] = fromCBOR(inner)
		}
		return object
	case cbor.List:
		list := make([]any, 0, len(value))
		for _, inner := range value {
			list = append(list, fromCBOR(inner))
		}
		return list
	case cbor.String:
		return string(value)
	case cbor.Bool:
		return bool(value)
	case *cbor.Tag:
		return fromCBOR(value.Value)
	case *cbor.Nil, *cbor.Undefined, nil:
		return nil
	}
	if number, err := cbor.AsInt64(value); err == nil {
		return number
	}
	number, err := cbor.AsFloat64(value)
	if err != nil {
		panic(fmt.Sprintf("no JSON for %T", value))
	}
	return number
}

// toCBOR knows that numbers are instants or floats by the member that holds them.
func toCBOR(member string, value any) cbor.Value {
	switch value := value.(type) {
	case map[string]any:
		object := make(cbor.Map)
		for name, inner := range value {
			object[name] = toCBOR(name, inner)
		}
		return object
	case []any:
		list := make(cbor.List, 0, len(value))
		for _, inner := range value {
			list = append(list, toCBOR(member, inner))
		}
		return list
	case string:
		return cbor.String(value)
	case bool:
		return cbor.Bool(value)
	case float64:
		if member == "Timestamps" {
			return &cbor.Tag{ID: 1, Value: cbor.Float64(value)}
		}
		return cbor.Float64(value)
	default:
		return &cbor.Nil{}
	}
}
