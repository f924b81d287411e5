// The document of a page as typed arrays. `cli/src/flame/document.rs` writes it.

/** The document out of gzipped JSON. */
export async function unpack(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Model(await new Response(stream).json());
}

/** The bytes of base64. */
export function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

export class Model {
  constructor(json) {
    if (json.format !== 1) throw new Error(`a document of format ${json.format}, this page reads 1`);
    this.about = json.about;
    this.few = json.few;
    this.binsPerOctave = json.bins_per_octave;
    /** Whether the base's samples are in it. */
    this.compares = json.compares;
    this.nodes = nodes(json.nodes);
    this.frames = {
      name: json.frames.name.map((text) => json.texts[text]),
      file: json.frames.file.map((text) => json.texts[text]),
      class: Uint8Array.from(json.frames.class),
    };
    this.endpointNames = json.endpoint_names.map((text) => json.texts[text]);
    this.endpoints = endpoints(json.endpoints);
    this.groups = {
      side: Uint8Array.from(json.groups.side),
      endpoint: Int32Array.from(json.groups.endpoint),
      bin: Int16Array.from(json.groups.bin),
      spans: json.groups.spans,
      ended: json.groups.ended,
    };
    this.spans = spans(json.groups, this.groups);
    this.profiles = json.profiles.map(profile);
    this.measures = this.profiles.flatMap(measures);
    /** What is chosen where nothing else is: the amount of the first kind. */
    this.firstMeasure = Math.max(0, this.measures.findIndex((of) => of.isDefault));
  }

  /** The shortest duration of a bin, ns. */
  binStart(bin) {
    return 2 ** (bin / this.binsPerOctave);
  }
}

function nodes({ up, frame }) {
  const count = up.length;
  const parent = new Int32Array(count);
  const depth = new Int32Array(count);
  // Behind the last of its subtree.
  const end = new Int32Array(count).fill(1);
  for (let i = 1; i < count; i += 1) {
    parent[i] = i - up[i];
    depth[i] = depth[parent[i]] + 1;
  }
  for (let i = count - 1; i >= 0; i -= 1) {
    end[i] = Math.max(end[i], i + 1);
    if (i > 0) end[parent[i]] = Math.max(end[parent[i]], end[i]);
  }
  return { count, parent, depth, end, frame: Int32Array.from(frame) };
}

function endpoints(columns) {
  return columns.name.map((name, i) => ({
    name,
    ended: columns.ended[i],
    p50: columns.p50[i],
    p95: columns.p95[i],
    p99: columns.p99[i],
    max: columns.max[i],
  }));
}

function spans(columns, groups) {
  return columns.single.map((group, i) => ({
    group,
    side: groups.side[group],
    endpoint: groups.endpoint[group],
    id: columns.id[i],
    trace: columns.trace[i],
    startMillis: columns.start_millis[i],
    duration: columns.duration[i],
    status: columns.status[i],
  }));
}

function profile(json) {
  return { ...json, sides: json.sides.map(rows) };
}

function rows(json) {
  const node = Int32Array.from(json.node);
  for (let i = 1; i < node.length; i += 1) node[i] += node[i - 1];
  return {
    node,
    group: Int32Array.from(json.group),
    values: json.values.map((column) => Float64Array.from(column)),
    window: json.window_millis,
    files: json.files,
  };
}

/** What can be shown of a profile: its amount first. */
function measures(of) {
  return of.types
    .map((type, index) => ({
      profile: of,
      type: index,
      unit: type.unit,
      counted: type.counted,
      isCount: type.is_count,
      isDefault: index === of.default,
      key: of.name === null ? `${type.name}/${type.unit}` : index === of.default ? of.name : `${of.name}:${type.name}`,
      label: label(of, type, index),
    }))
    .filter((measure) => !measure.isCount)
    .sort((a, b) => b.isDefault - a.isDefault);
}

function label(of, type, index) {
  const plain = (text) => text.replaceAll("_", " ");
  if (of.name === null) return `${plain(type.name)} (${type.unit})`;
  return index === of.default ? plain(of.name) : `${plain(of.name)}: ${plain(type.name)}`;
}
