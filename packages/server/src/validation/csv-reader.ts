export interface CsvRecord {
  fields: string[];
  /** From 1: where it begins. */
  line: number;
  /** What RFC 4180 does not let stand: the field, from 0, and why. */
  fault?: { field: number; message: string } | undefined;
}

const quote = 34;
const comma = 44;
const isEnd = (unit: number) => unit === 10 || unit === 13;

/** The records of a text by RFC 4180; a line may end with LF, CR LF or CR. Empty lines are no records. */
export function* readRecords(text: string): Generator<CsvRecord> {
  let at = text.charCodeAt(0) === 0xfeff ? 1 : 0;
  let line = 1;
  const endLine = () => {
    at += text.charCodeAt(at) === 13 && text.charCodeAt(at + 1) === 10 ? 2 : 1;
    line += 1;
  };
  while (at < text.length) {
    if (isEnd(text.charCodeAt(at))) {
      endLine();
      continue;
    }
    const record: CsvRecord = { fields: [], line };
    for (;;) {
      record.fields.push(text.charCodeAt(at) === quote ? quoted(record) : plain(record));
      if (text.charCodeAt(at) !== comma) break;
      at += 1;
    }
    if (at < text.length) endLine();
    yield record;
  }

  function plain(record: CsvRecord): string {
    const start = at;
    for (; at < text.length; at += 1) {
      const unit = text.charCodeAt(at);
      if (unit === comma || isEnd(unit)) break;
      if (unit === quote)
        record.fault ??= { field: record.fields.length, message: "a quote in a field without quotes" };
    }
    return text.slice(start, at);
  }

  function quoted(record: CsvRecord): string {
    const field = record.fields.length;
    const parts: string[] = [];
    for (let start = at + 1; ; ) {
      const close = text.indexOf('"', start);
      const end = close < 0 ? text.length : close;
      for (let i = start; i < end; i += 1) {
        const unit = text.charCodeAt(i);
        if (unit === 10 || (unit === 13 && text.charCodeAt(i + 1) !== 10)) line += 1;
      }
      parts.push(text.slice(start, end));
      at = end + 1;
      if (close < 0) {
        at = text.length;
        record.fault ??= { field, message: "a quoted field is not closed" };
        break;
      }
      if (text.charCodeAt(at) !== quote) break;
      parts.push('"');
      start = at + 1;
    }
    if (at < text.length && text.charCodeAt(at) !== comma && !isEnd(text.charCodeAt(at))) {
      record.fault ??= { field, message: "text after the closing quote of a field" };
      parts.push(plain(record));
    }
    return parts.join("");
  }
}
