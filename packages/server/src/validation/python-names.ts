/** Names that people use without their import. Data: module, then what `from module import` brings. */
const byModule: Record<string, string> = {
  abc: "ABC ABCMeta abstractmethod",
  collections: "ChainMap Counter OrderedDict defaultdict deque namedtuple",
  contextlib: "ExitStack asynccontextmanager closing contextmanager nullcontext redirect_stdout suppress",
  copy: "deepcopy",
  csv: "DictReader DictWriter",
  dataclasses: "asdict astuple dataclass field",
  datetime: "date timedelta timezone",
  decimal: "Decimal getcontext",
  enum: "Enum Flag IntEnum IntFlag StrEnum",
  fractions: "Fraction",
  functools: "cache cached_property lru_cache partial reduce singledispatch total_ordering wraps",
  heapq: "heapify heappop heappush nlargest nsmallest",
  io: "BytesIO StringIO TextIOWrapper",
  itertools:
    "accumulate chain combinations cycle groupby islice pairwise permutations product starmap takewhile tee zip_longest",
  math: "ceil comb cos exp factorial floor gcd hypot inf isclose isnan log10 log2 nan pi sin sqrt tan tau",
  operator: "attrgetter itemgetter",
  pathlib: "Path PurePath",
  pprint: "pprint",
  random: "choice choices randint shuffle uniform",
  statistics: "mean median mode stdev variance",
  tempfile: "NamedTemporaryFile TemporaryDirectory mkdtemp",
  time: "perf_counter sleep",
  typing:
    "Annotated Any Callable ClassVar Dict Final Generic Iterable Iterator List Literal Mapping NamedTuple Optional Protocol Sequence Set Tuple TypeVar TypedDict Union",
  uuid: "uuid4",
  zipfile: "ZipFile",
  zoneinfo: "ZoneInfo",
};

const moduleOf = new Map(
  Object.entries(byModule).flatMap(([module, names]) => names.split(" ").map((name) => [name, module] as const)),
);

/** Submodules that must be named, since their module does not bring them. */
const submodules: Record<string, string[]> = {
  concurrent: ["futures"],
  importlib: ["resources", "util", "metadata"],
  urllib: ["error", "parse", "request"],
  xml: ["etree"],
  logging: ["config", "handlers"],
};

export interface MissingImport {
  module: string;
  /** With `from module import name`; without it the module itself. */
  name?: string;
}

/** What would bind an unknown name that stands before `.attribute`, if anything does. */
export function importFor(name: string, attribute: string | undefined, isStandard: (name: string) => boolean) {
  // datetime.now() is the class, datetime.datetime the module.
  if (
    name === "datetime" &&
    attribute !== undefined &&
    /^(now|today|utcnow|strptime|from|combine|min|max)/.test(attribute)
  )
    return { module: "datetime", name: "datetime" } satisfies MissingImport;
  const module = moduleOf.get(name);
  if (module !== undefined && (attribute === undefined || !isStandard(name)))
    return { module, name } satisfies MissingImport;
  if (attribute === undefined || !isStandard(name)) return undefined;
  const inner = submodules[name]?.includes(attribute) ? attribute : undefined;
  if (name === "xml" && inner === "etree") return { module: "xml.etree.ElementTree" } satisfies MissingImport;
  return { module: inner === undefined ? name : `${name}.${inner}` } satisfies MissingImport;
}

export const statementOf = ({ module, name }: MissingImport): string =>
  name === undefined ? `import ${module}` : `from ${module} import ${name}`;
