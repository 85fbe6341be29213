/** Fields of one line of CSV (RFC 4180, but no field goes over a line end). `undefined`: quotes that don't match. */
export function splitCsvLine(line: string): string[] | undefined {
  if (!line.includes('"')) return line.split(',');
  const fields: string[] = [];
  let at = 0;
  for (;;) {
    if (line[at] === '"') {
      const quoted = readQuoted(line, at);
      if (quoted === undefined) return undefined;
      fields.push(quoted.value);
      at = quoted.end;
    } else {
      const comma = line.indexOf(',', at);
      const end = comma < 0 ? line.length : comma;
      const field = line.slice(at, end);
      if (field.includes('"')) return undefined;
      fields.push(field);
      at = end;
    }
    if (at >= line.length) return fields;
    if (line[at] !== ',') return undefined;
    at += 1;
  }
}

function readQuoted(line: string, start: number): { value: string; end: number } | undefined {
  let value = '';
  let at = start + 1;
  for (;;) {
    const quote = line.indexOf('"', at);
    if (quote < 0) return undefined;
    value += line.slice(at, quote);
    if (line[quote + 1] !== '"') return { value, end: quote + 1 };
    value += '"';
    at = quote + 2;
  }
}

export const csvField = (text: string): string =>
  /[",\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text;
