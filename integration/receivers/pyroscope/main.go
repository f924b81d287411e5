// A receiver of profiles for tests, on Pyroscope's own generated types.
//
// It takes what Pyroscope takes (the Connect call Push, and /ingest) and any other POST as a plain pprof collector does,
// and prints each as one line of JSON: what it says, decoded, with stacks as names. The first line is the address it
// listens at. With -old it is a server that does not know Push.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"

	"connectrpc.com/connect"
	profilev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	"google.golang.org/protobuf/proto"
)

// Most bytes of a profile that are held: sixteen times what Pyroscope takes.
const limit = 64 << 20

type valueType struct {
	Type string `json:"type"`
	Unit string `json:"unit"`
}

type sample struct {
	// Leaf first.
	Stack   []string          `json:"stack"`
	Values  []int64           `json:"values"`
	Labels  map[string]string `json:"labels"`
	Numbers map[string]int64  `json:"numbers"`
}

type profile struct {
	Bytes       int         `json:"bytes"`
	SampleTypes []valueType `json:"sample_types"`
	PeriodType  valueType   `json:"period_type"`
	Period      int64       `json:"period"`
	TimeNanos   int64       `json:"time_nanos"`
	Duration    int64       `json:"duration_nanos"`
	Comments    []string    `json:"comments"`
	Samples     []sample    `json:"samples"`
}

type line struct {
	By          string            `json:"by"`
	Path        string            `json:"path"`
	ContentType string            `json:"content_type"`
	Query       map[string]string `json:"query,omitempty"`
	Headers     map[string]string `json:"headers"`
	// Of a push: the labels of the series, and the id of its profile.
	Labels  map[string]string `json:"labels,omitempty"`
	ID      string            `json:"id,omitempty"`
	Profile *profile          `json:"profile"`
}

// Headers that tests look at.
var shown = []string{"Authorization", "X-Scope-Orgid", "Content-Encoding", "User-Agent"}

func headers(from http.Header) map[string]string {
	found := map[string]string{}
	for _, name := range shown {
		if value := from.Get(name); value != "" {
			found[name] = value
		}
	}
	return found
}

// The profile in these bytes, gzipped or not. Every index is checked, as the server does.
func decode(raw []byte) (*profile, error) {
	if bytes.HasPrefix(raw, []byte{0x1f, 0x8b}) {
		reader, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, err
		}
		if raw, err = io.ReadAll(io.LimitReader(reader, limit+1)); err != nil {
			return nil, err
		}
		if len(raw) > limit {
			return nil, fmt.Errorf("more than %d bytes when decompressed", limit)
		}
	}
	// The plain runtime and not the fast one: it also checks that all strings are UTF-8.
	var p profilev1.Profile
	if err := proto.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	var broken error
	text := func(index int64) string {
		if index < 0 || index >= int64(len(p.StringTable)) {
			broken = fmt.Errorf("string %d of %d", index, len(p.StringTable))
			return ""
		}
		return p.StringTable[index]
	}
	of := func(t *profilev1.ValueType) valueType {
		return valueType{text(t.GetType()), text(t.GetUnit())}
	}
	if len(p.StringTable) == 0 || p.StringTable[0] != "" {
		return nil, errors.New("the first string is not empty")
	}
	functions := map[uint64]string{}
	for _, function := range p.Function {
		functions[function.Id] = text(function.Name)
	}
	locations := map[uint64][]string{}
	for _, location := range p.Location {
		if location.Id == 0 {
			return nil, errors.New("a location without id")
		}
		names := []string{}
		for _, l := range location.Line {
			name, known := functions[l.FunctionId]
			if !known {
				return nil, fmt.Errorf("location %d: no function %d", location.Id, l.FunctionId)
			}
			names = append(names, name)
		}
		locations[location.Id] = names
	}
	out := &profile{
		Bytes:       len(raw),
		SampleTypes: []valueType{},
		PeriodType:  of(p.PeriodType),
		Period:      p.Period,
		TimeNanos:   p.TimeNanos,
		Duration:    p.DurationNanos,
		Comments:    []string{},
		Samples:     []sample{},
	}
	for _, t := range p.SampleType {
		out.SampleTypes = append(out.SampleTypes, of(t))
	}
	for _, comment := range p.Comment {
		out.Comments = append(out.Comments, text(comment))
	}
	for at, s := range p.Sample {
		if len(s.Value) != len(p.SampleType) {
			return nil, fmt.Errorf("sample %d: %d values of %d types", at, len(s.Value), len(p.SampleType))
		}
		one := sample{Values: s.Value, Labels: map[string]string{}, Numbers: map[string]int64{}}
		for _, id := range s.LocationId {
			names, known := locations[id]
			if !known {
				return nil, fmt.Errorf("sample %d: no location %d", at, id)
			}
			one.Stack = append(one.Stack, names...)
		}
		for _, label := range s.Label {
			key := text(label.Key)
			if _, twice := one.Labels[key]; twice {
				return nil, fmt.Errorf("sample %d: label %q twice", at, key)
			}
			if label.Str != 0 {
				one.Labels[key] = text(label.Str)
			} else {
				one.Numbers[key] = label.Num
			}
		}
		out.Samples = append(out.Samples, one)
	}
	return out, broken
}

type receiver struct {
	pushv1connect.UnimplementedPusherServiceHandler
	lock sync.Mutex
	out  *json.Encoder
}

func (r *receiver) print(one line) error {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.out.Encode(one)
}

func (r *receiver) Push(_ context.Context, request *connect.Request[pushv1.PushRequest]) (*connect.Response[pushv1.PushResponse], error) {
	for _, series := range request.Msg.Series {
		labels := map[string]string{}
		for _, label := range series.Labels {
			if _, twice := labels[label.Name]; twice {
				return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("label %q twice", label.Name))
			}
			labels[label.Name] = label.Value
		}
		for _, raw := range series.Samples {
			decoded, err := decode(raw.RawProfile)
			if err != nil {
				return nil, connect.NewError(connect.CodeInvalidArgument, err)
			}
			err = r.print(line{
				By:          "push",
				Path:        request.Spec().Procedure,
				ContentType: request.Header().Get("Content-Type"),
				Headers:     headers(request.Header()),
				Labels:      labels,
				ID:          raw.ID,
				Profile:     decoded,
			})
			if err != nil {
				return nil, connect.NewError(connect.CodeInternal, err)
			}
		}
	}
	return connect.NewResponse(&pushv1.PushResponse{}), nil
}

// A POST whose body is one profile.
func (r *receiver) take(by string) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodPost {
			http.Error(w, "POST only", http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(io.LimitReader(request.Body, limit))
		if err == nil {
			var decoded *profile
			if decoded, err = decode(body); err == nil {
				query := map[string]string{}
				for key := range request.URL.Query() {
					query[key] = request.URL.Query().Get(key)
				}
				err = r.print(line{
					By:          by,
					Path:        request.URL.Path,
					ContentType: request.Header.Get("Content-Type"),
					Query:       query,
					Headers:     headers(request.Header),
					Profile:     decoded,
				})
			}
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}
}

func main() {
	old := flag.Bool("old", false, "do not know Push")
	address := flag.String("listen", "127.0.0.1:0", "address to listen at")
	flag.Parse()
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr())
	r := &receiver{out: json.NewEncoder(os.Stdout)}
	mux := http.NewServeMux()
	path, handler := pushv1connect.NewPusherServiceHandler(r)
	if *old {
		mux.HandleFunc(path, func(w http.ResponseWriter, request *http.Request) {
			// All of it, or the answer is lost with the connection.
			if _, err := io.Copy(io.Discard, request.Body); err != nil {
				log.Print(err)
			}
			http.NotFound(w, request)
		})
	} else {
		mux.Handle(path, handler)
	}
	mux.HandleFunc("/ingest", r.take("ingest"))
	mux.HandleFunc("/", r.take("pprof"))
	log.Fatal(http.Serve(listener, mux))
}
