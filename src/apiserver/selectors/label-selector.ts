import { badRequest } from '../api-error.ts';
import { labelValueProblems, qualifiedNameProblems } from '../schema/names.ts';

type Labels = Readonly<Record<string, string>>;
type Requirement = (labels: Labels) => boolean;

/** True when an object with these labels is selected. */
export type LabelSelector = (labels: Labels) => boolean;

/**
 * Parses the query parameter `labelSelector` (apimachinery's labels.Parse): `a=b`, `a!=b`, `a in (x,y)`, `a notin (x)`,
 * `a`, `!a`, `a>1`, `a<1`, joined by commas. Empty or absent selects everything. Throws 400.
 */
export function parseLabelSelector(text: string | undefined): LabelSelector | undefined {
  if (text === undefined || text.trim() === '') return undefined;
  const requirements = splitOutsideParentheses(text).map((part) => parseRequirement(part.trim(), text));
  return (labels) => requirements.every((requirement) => requirement(labels));
}

function splitOutsideParentheses(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < text.length; index += 1) {
    if (text[index] === '(') depth += 1;
    else if (text[index] === ')') depth -= 1;
    else if (text[index] === ',' && depth === 0) {
      parts.push(text.slice(start, index));
      start = index + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}

function parseRequirement(part: string, whole: string): Requirement {
  const set = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(part);
  if (set !== null) return setRequirement(set[1] ?? '', set[2] === 'in', set[3] ?? '');
  const operation = /^([^\s!=<>]+)\s*(==|=|!=|<|>)\s*([^\s!=<>]*)$/.exec(part);
  if (operation !== null)
    return compareRequirement(operation[1] ?? '', operation[2] ?? '', operation[3] ?? '');
  const presence = /^(!?)\s*([^\s!=<>(),]+)$/.exec(part);
  if (presence === null)
    throw badRequest(`unable to parse requirement: found '${part}' in selector '${whole}'`);
  const key = checkKey(presence[2] ?? '');
  return presence[1] === '!'
    ? (labels) => !Object.hasOwn(labels, key)
    : (labels) => Object.hasOwn(labels, key);
}

function setRequirement(rawKey: string, wanted: boolean, list: string): Requirement {
  const key = checkKey(rawKey);
  const values = new Set(list.split(',').map((value) => checkValue(key, value.trim())));
  return (labels) => (Object.hasOwn(labels, key) ? values.has(labels[key] ?? '') === wanted : !wanted);
}

function compareRequirement(rawKey: string, operator: string, rawValue: string): Requirement {
  const key = checkKey(rawKey);
  const value = checkValue(key, rawValue);
  if (operator === '!=') return (labels) => !Object.hasOwn(labels, key) || labels[key] !== value;
  if (operator === '=' || operator === '==')
    return (labels) => Object.hasOwn(labels, key) && labels[key] === value;
  if (!/^-?\d+$/.test(value))
    throw badRequest(
      `values[0][${key}]: Invalid value: "${value}": for 'Gt', 'Lt' operators, the value must be an integer`,
    );
  const limit = Number(value);
  return (labels) => {
    const actual = labels[key];
    if (actual === undefined || !/^-?\d+$/.test(actual)) return false;
    return operator === '>' ? Number(actual) > limit : Number(actual) < limit;
  };
}

function checkKey(key: string): string {
  const problems = qualifiedNameProblems(key);
  if (problems.length > 0)
    throw badRequest(
      `unable to parse requirement: <nil>: Invalid value: ${JSON.stringify(key)}: ${problems.join('; ')}`,
    );
  return key;
}

function checkValue(key: string, value: string): string {
  const problems = labelValueProblems(value);
  if (problems.length > 0)
    throw badRequest(
      `unable to parse requirement: values[0][${key}]: Invalid value: ${JSON.stringify(value)}: ${problems.join('; ')}`,
    );
  return value;
}
