import {
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
  type YAMLError,
  type Document,
  type Node,
} from 'yaml';
import { substitute, type Environment } from './environment';
import { problem, type ConfigProblem, type Origin } from './problems';

type Path = readonly PropertyKey[];

/** A YAML text with its references filled in, that can still say where each value came from. */
export interface YamlSource {
  readonly value: unknown;
  readonly origin: Origin;
  /** Faults of the text itself, and variables that are not set. */
  readonly problems: readonly ConfigProblem[];
  /** True if the value at this path was text with a reference in it. */
  isFromEnvironment(path: Path): boolean;
}

/** Uses of anchors in one file, those within each other counted as often as they unfold. */
const MAX_ALIASES = 100;

/** Reads YAML 1.2 and fills in the environment. `file` is only shown. */
export function readYaml(text: string, file: string, environment: Environment): YamlSource {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const asWritten = new Map<Node, string>();
  // One slip makes the parser stumble many times: only the first fault helps.
  const problems = document.errors.slice(0, 1).map((error) => yamlProblem(error, text, file, lines));
  if (problems.length === 0) {
    visit(document, {
      Scalar: (key, node) => {
        if (key === 'key' || typeof node.value !== 'string') return;
        const filled = substitute(node.value, environment);
        if (!filled.changed) return;
        asWritten.set(node, node.value);
        node.value = filled.text;
        const at = { file, lineOf: () => lineOfNode(node, lines) };
        for (const name of filled.missing)
          problems.push(problem([], `the environment variable ${name} to be set`, 'nothing', at));
        for (const reference of filled.malformed)
          problems.push(problem([], 'a reference such as ${NAME} or ${NAME:-default}', reference, at));
      },
    });
  }
  let value: unknown;
  try {
    if (problems.length === 0) value = document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    // Aliases of aliases could grow without end; the library stops at the limit.
    const found = error instanceof ReferenceError ? 'more' : String(error);
    problems.push(problem([], `at most ${MAX_ALIASES} uses of anchors`, found, { file }));
  }
  const scalarAt = (path: Path): Node | undefined => nodeAt(document, path);
  return {
    value,
    problems,
    origin: {
      file,
      lineOf: (path) => lineOf(document, path, lines),
      written: (path) => {
        const node = scalarAt(path);
        return node === undefined ? undefined : asWritten.get(node);
      },
    },
    isFromEnvironment: (path) => {
      const node = scalarAt(path);
      return node !== undefined && asWritten.has(node);
    },
  };
}

function yamlProblem(error: YAMLError, text: string, file: string, lines: LineCounter): ConfigProblem {
  const { line } = lines.linePos(error.pos[0]);
  if (error.code === 'DUPLICATE_KEY') {
    const key = /^("[^"]*"|'[^']*'|[^\s:]+)/.exec(text.slice(error.pos[0]))?.[0] ?? 'a key';
    return problem([], 'each key once', `${key} a second time`, { file, lineOf: () => line });
  }
  const inBraces = /[{[,].*[^"'$]\$\{/.test(text.split('\n')[line - 1] ?? '');
  const hint = inBraces ? ' with "${NAME}" in quotes inside { } and [ ]' : '';
  return problem([], `YAML${hint}`, error.message, { file, lineOf: () => line });
}

function nodeAt(document: Document, path: Path): Node | undefined {
  let here: unknown = document.contents;
  for (const step of path) {
    if (isMap(here)) here = here.get(step, true);
    else if (isSeq(here)) here = here.get(step, true);
    else return undefined;
  }
  return isScalar(here) || isMap(here) || isSeq(here) ? here : undefined;
}

/** The line of the key that holds the value; for what is missing, the line of what it is missing from. */
function lineOf(document: Document, path: Path, lines: LineCounter): number | undefined {
  let here: unknown = document.contents;
  let line = lineOfNode(here, lines);
  for (const step of path) {
    if (isMap(here)) {
      const pair = here.items.find((item) => isPair(item) && isScalar(item.key) && item.key.value === step);
      if (pair === undefined) return line;
      line = lineOfNode(pair.key, lines) ?? line;
      here = pair.value;
    } else if (isSeq(here)) {
      const item = here.items[Number(step)];
      if (item === undefined) return line;
      line = lineOfNode(item, lines) ?? line;
      here = item;
    } else return line;
  }
  return line;
}

function lineOfNode(node: unknown, lines: LineCounter): number | undefined {
  if (!isScalar(node) && !isMap(node) && !isSeq(node)) return undefined;
  const range = node.range;
  return range === undefined || range === null ? undefined : lines.linePos(range[0]).line;
}
