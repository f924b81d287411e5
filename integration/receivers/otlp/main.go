// A receiver of OTLP profiles for tests, on the Collector's own types (pdata).
//
// It takes what the Collector's receiver takes, and prints each profile as one line of JSON: what it says, with every
// index of the dictionary looked up. The first line is the address it listens at. It is there beside the real Collector
// because that one's debug exporter does not print which stack and which link a sample has; so the Collector also sends
// on to this.
package main

import (
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
)

// Most bytes of a message that are held.
const limit = 64 << 20

type valueType struct {
	Type string `json:"type"`
	Unit string `json:"unit"`
}

type sample struct {
	// Leaf first.
	Stack      []string       `json:"stack"`
	Values     []int64        `json:"values"`
	Timestamps int            `json:"timestamps"`
	Trace      string         `json:"trace"`
	Span       string         `json:"span"`
	Attributes map[string]any `json:"attributes"`
}

type line struct {
	UserAgent  string         `json:"user_agent"`
	Resource   map[string]any `json:"resource"`
	Scope      string         `json:"scope"`
	Version    string         `json:"version"`
	ID         string         `json:"id"`
	SampleType valueType      `json:"sample_type"`
	PeriodType valueType      `json:"period_type"`
	Period     int64          `json:"period"`
	TimeNanos  int64          `json:"time_nanos"`
	Duration   uint64         `json:"duration_nanos"`
	Attributes map[string]any `json:"attributes"`
	Samples    []sample       `json:"samples"`
}

// The tables, and the first index that led nowhere.
type dictionary struct {
	pprofile.ProfilesDictionary
	broken error
}

func (d *dictionary) at(table string, index int32, length int) bool {
	if index >= 0 && int(index) < length {
		return true
	}
	if d.broken == nil {
		d.broken = fmt.Errorf("%s %d of %d", table, index, length)
	}
	return false
}

func (d *dictionary) text(index int32) string {
	if !d.at("string", index, d.StringTable().Len()) {
		return ""
	}
	return d.StringTable().At(int(index))
}

func (d *dictionary) valueType(of pprofile.ValueType) valueType {
	return valueType{d.text(of.TypeStrindex()), d.text(of.UnitStrindex())}
}

func (d *dictionary) attributes(of pcommon.Int32Slice) map[string]any {
	found := map[string]any{}
	for _, index := range of.All() {
		if d.at("attribute", index, d.AttributeTable().Len()) {
			attribute := d.AttributeTable().At(int(index))
			found[d.text(attribute.KeyStrindex())] = attribute.Value().AsRaw()
		}
	}
	return found
}

func (d *dictionary) stack(index int32) []string {
	names := []string{}
	if !d.at("stack", index, d.StackTable().Len()) {
		return names
	}
	for _, location := range d.StackTable().At(int(index)).LocationIndices().All() {
		if !d.at("location", location, d.LocationTable().Len()) {
			continue
		}
		for _, line := range d.LocationTable().At(int(location)).Lines().All() {
			if function := line.FunctionIndex(); d.at("function", function, d.FunctionTable().Len()) {
				names = append(names, d.text(d.FunctionTable().At(int(function)).NameStrindex()))
			}
		}
	}
	return names
}

// The entries of index 0 are those that are not set.
func (d *dictionary) check() {
	for table, length := range map[string]int{
		"mapping":   d.MappingTable().Len(),
		"location":  d.LocationTable().Len(),
		"function":  d.FunctionTable().Len(),
		"link":      d.LinkTable().Len(),
		"attribute": d.AttributeTable().Len(),
		"stack":     d.StackTable().Len(),
	} {
		d.at(table, 0, length)
	}
	if d.text(0) != "" || !d.LinkTable().At(0).TraceID().IsEmpty() || d.StackTable().At(0).LocationIndices().Len() != 0 {
		d.broken = fmt.Errorf("an entry of index 0 is set")
	}
}

func lines(profiles pprofile.Profiles, userAgent string) ([]line, error) {
	d := &dictionary{ProfilesDictionary: profiles.Dictionary()}
	if d.check(); d.broken != nil {
		return nil, d.broken
	}
	all := []line{}
	for _, resource := range profiles.ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			for _, profile := range scope.Profiles().All() {
				one := line{
					UserAgent:  userAgent,
					Resource:   resource.Resource().Attributes().AsRaw(),
					Scope:      scope.Scope().Name(),
					Version:    scope.Scope().Version(),
					ID:         profile.ProfileID().String(),
					SampleType: d.valueType(profile.SampleType()),
					PeriodType: d.valueType(profile.PeriodType()),
					Period:     profile.Period(),
					TimeNanos:  int64(profile.Time()),
					Duration:   profile.DurationNano(),
					Attributes: d.attributes(profile.AttributeIndices()),
					Samples:    []sample{},
				}
				for _, s := range profile.Samples().All() {
					seen := sample{
						Stack:      d.stack(s.StackIndex()),
						Values:     s.Values().AsRaw(),
						Timestamps: s.TimestampsUnixNano().Len(),
						Attributes: d.attributes(s.AttributeIndices()),
					}
					if index := s.LinkIndex(); index != 0 && d.at("link", index, d.LinkTable().Len()) {
						link := d.LinkTable().At(int(index))
						seen.Trace, seen.Span = link.TraceID().String(), link.SpanID().String()
					}
					one.Samples = append(one.Samples, seen)
				}
				all = append(all, one)
			}
		}
	}
	return all, d.broken
}

func message(request *http.Request) (pprofile.Profiles, error) {
	none := pprofile.NewProfiles()
	values := request.Header.Values(pprofileotlp.DevelopmentVersionHeader)
	if err := pprofileotlp.ValidateDevelopmentVersion(values); err != nil {
		return none, err
	}
	if kind := request.Header.Get("Content-Type"); kind != "application/x-protobuf" {
		return none, fmt.Errorf("Content-Type %q", kind)
	}
	var body io.Reader = request.Body
	if request.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return none, err
		}
		body = unzipped
	}
	bytes, err := io.ReadAll(io.LimitReader(body, limit))
	if err != nil {
		return none, err
	}
	export := pprofileotlp.NewExportRequest()
	if err := export.UnmarshalProto(bytes); err != nil {
		return none, err
	}
	return export.Profiles(), nil
}

func main() {
	address := flag.String("listen", "127.0.0.1:0", "address to listen at")
	flag.Parse()
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr())
	var lock sync.Mutex
	out := json.NewEncoder(os.Stdout)
	http.HandleFunc("POST /v1development/profiles", func(w http.ResponseWriter, request *http.Request) {
		profiles, err := message(request)
		if err == nil {
			var all []line
			all, err = lines(profiles, request.Header.Get("User-Agent"))
			lock.Lock()
			defer lock.Unlock()
			for _, one := range all {
				if err == nil {
					err = out.Encode(one)
				}
			}
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	})
	log.Fatal(http.Serve(listener, nil))
}
