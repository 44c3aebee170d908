import { isObject } from '#kit/json.ts';

type Step = (value: unknown) => unknown[];

const compiled = new Map<string, readonly Step[]>();

/**
 * The values that a printer column's JSON path selects: `.status.conditions[?(@.type=="Ready")].status`,
 * `.spec.list[0]`, `.spec.list[*].name`, `['key']`. That part of kubectl's JSONPath, no more.
 */
export function readPath(object: unknown, path: string): unknown[] {
  let steps = compiled.get(path);
  if (steps === undefined) {
    steps = compile(path);
    compiled.set(path, steps);
  }
  let values: unknown[] = [object];
  for (const step of steps) values = values.flatMap(step);
  return values;
}

const token =
  /\.([A-Za-z0-9_$-](?:[A-Za-z0-9_$-]|\\.)*)|\[\?\(@\.([A-Za-z0-9_.]+)\s*==\s*(?:"([^"]*)"|'([^']*)')\)\]|\[(\d+)\]|\[\*\]|\.\*|\['([^']*)'\]/gy;

function compile(path: string): Step[] {
  const steps: Step[] = [];
  token.lastIndex = 0;
  const text = path.startsWith('.') || path.startsWith('[') ? path : `.${path}`;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) steps.push(stepOf(match));
  return steps;
}

function stepOf(match: RegExpExecArray): Step {
  const [, name, filterPath, doubleQuoted, singleQuoted, index, quotedName] = match;
  const member = name?.replaceAll('\\', '') ?? quotedName;
  if (member !== undefined)
    return (value) => (isObject(value) && Object.hasOwn(value, member) ? [value[member]] : []);
  if (filterPath !== undefined) {
    const wanted = doubleQuoted ?? singleQuoted;
    return (value) =>
      Array.isArray(value) ? value.filter((item) => readPath(item, `.${filterPath}`)[0] === wanted) : [];
  }
  if (index !== undefined)
    return (value) => (Array.isArray(value) ? value.slice(Number(index), Number(index) + 1) : []);
  return (value) => (Array.isArray(value) ? value : isObject(value) ? Object.values(value) : []);
}
