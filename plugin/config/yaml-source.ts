import {
  isAlias,
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

/** The tags of what JSON has, too. */
const PLAIN_TAGS = /^tag:yaml\.org,2002:(str|int|float|bool|null|seq|map)$/;

/** Reads YAML 1.2 and fills in the environment. `file` is only shown. */
export function readYaml(text: string, file: string, environment: Environment): YamlSource {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const asWritten = new Map<Node, string>();
  // One slip makes the parser stumble many times: only the first fault helps.
  const problems = document.errors
    .slice(0, 1)
    .map((error) => yamlProblem(error, document, text, file, lines));
  const refuseTag = (key: unknown, node: Node & { tag?: string }, above: readonly unknown[]): void => {
    if (node.tag === undefined || PLAIN_TAGS.test(node.tag)) return;
    const at = { file, lineOf: () => lineOfNode(node, lines) };
    problems.push(problem(pathOf(key, above), 'a value without a tag', node.tag, at));
  };
  if (problems.length === 0) {
    visit(document, {
      Collection: refuseTag,
      Alias: (key, node, above) => {
        if (node.resolve(document) !== undefined) return;
        const at = { file, lineOf: () => lineOfNode(node, lines) };
        problems.push(
          problem(
            pathOf(key, above),
            `an anchor &${node.source} further up`,
            `*${node.source} without one`,
            at,
          ),
        );
      },
      Pair: (key, pair, above) => {
        if (!isScalar(pair.key) || pair.key.value !== '<<') return;
        const at = { file, lineOf: () => lineOfNode(pair.key, lines) };
        problems.push(
          problem(
            pathOf(key, [...above, pair]),
            'the keys themselves, or an alias of a whole value (key: *anchor)',
            'the merge key <<, which YAML 1.2 does not have',
            at,
          ),
        );
      },
      Scalar: (key, node, above) => {
        refuseTag(key, node, above);
        if (key === 'key' || typeof node.value !== 'string') return;
        const filled = substitute(node.value, environment);
        if (!filled.changed) return;
        asWritten.set(node, node.value);
        node.value = filled.text;
        const path = pathOf(key, above);
        const at = { file, lineOf: () => lineOfNode(node, lines) };
        for (const name of filled.missing)
          problems.push(problem(path, `the environment variable ${name} to be set`, 'nothing', at));
        for (const reference of filled.malformed)
          problems.push(problem(path, 'a reference such as ${NAME} or ${NAME:-default}', reference, at));
      },
    });
  }
  let value: unknown;
  try {
    if (problems.length === 0) value = document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    // Aliases of aliases could grow without end; the library stops at the limit.
    const found = error instanceof ReferenceError ? 'more' : String(error);
    problems.push(
      problem(
        [],
        `at most ${MAX_ALIASES} uses of anchors, nested ones counted as often as they unfold`,
        found,
        { file },
      ),
    );
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

function yamlProblem(
  error: YAMLError,
  document: Document,
  text: string,
  file: string,
  lines: LineCounter,
): ConfigProblem {
  const { line } = lines.linePos(error.pos[0]);
  const at = { file, lineOf: () => line };
  if (error.code === 'DUPLICATE_KEY') {
    const path = pathAt(document, error.pos[0]);
    const key = path.at(-1);
    return problem(
      path,
      'each key once',
      key === undefined ? 'a key a second time' : `${String(key)} a second time`,
      at,
    );
  }
  if (error.code === 'MULTIPLE_DOCS')
    return problem([], 'one YAML document', 'another one, which begins with ---', at);
  const inBraces = /[{[,].*[^"'$]\$\{/.test(text.split('\n')[line - 1] ?? '');
  const hint = inBraces ? ' with "${NAME}" in quotes inside { } and [ ]' : '';
  return problem([], `YAML${hint}`, error.message, at);
}

/** The path of what `visit` is at. */
function pathOf(key: unknown, above: readonly unknown[]): Path {
  const path: PropertyKey[] = [];
  above.forEach((node, at) => {
    const next = above[at + 1];
    if (isPair(node) && isScalar(node.key)) path.push(String(node.key.value));
    else if (isSeq(node)) path.push(next === undefined ? Number(key) : node.items.indexOf(next));
  });
  return path;
}

/** The path of the key or value that begins at this place of the text; empty if there is none. */
function pathAt(document: Document, offset: number): Path {
  let found: Path = [];
  visit(document, {
    Node: (key, node, above) => {
      if (node.range?.[0] !== offset) return undefined;
      found = pathOf(key, above);
      return visit.BREAK;
    },
  });
  return found;
}

function nodeAt(document: Document, path: Path): Node | undefined {
  let here: unknown = document.contents;
  for (const step of path) {
    if (isAlias(here)) here = here.resolve(document);
    if (isMap(here)) here = here.get(step, true);
    else if (isSeq(here)) here = here.get(step, true);
    else return undefined;
  }
  if (isAlias(here)) here = here.resolve(document);
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
  if (!isScalar(node) && !isMap(node) && !isSeq(node) && !isAlias(node)) return undefined;
  const range = node.range;
  return range === undefined || range === null ? undefined : lines.linePos(range[0]).line;
}
