import { createReadStream, statSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** One request of a program of the product, or of the bench, as the API server saw it. */
export interface AuditEntry {
  readonly agent: string;
  readonly verb: string;
  /** `pods`, `agents/status`. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly code: number;
  /** Milliseconds since the epoch, with microseconds as fraction. */
  readonly received: number;
  readonly answered: number;
}

/** Absent where the cluster keeps no log that a bench can read. */
export type AuditLog = { readonly missing: string } | OpenAuditLog;

export interface OpenAuditLog {
  /** Where the log ends now. */
  mark(): number;
  /** What came since a mark. */
  since(mark: number): Promise<AuditEntry[]>;
}

/** Every user agent of the product and its benches begins so. */
const ours = '"userAgent":"ploinky-';
const writeVerbs = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

export function openAuditLog(path: string | undefined): AuditLog {
  if (path === undefined) return { missing: 'this cluster keeps no audit log that a bench can read' };
  return { mark: () => statSync(path).size, since: (mark) => read(path, mark) };
}

async function read(path: string, start: number): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  // The last line may be half written.
  const end = statSync(path).size - 1;
  if (end < start) return entries;
  for await (const line of createInterface({ input: createReadStream(path, { start, end }) })) {
    if (line.includes(ours) && line.endsWith('}')) entries.push(parse(line));
  }
  return entries;
}

function parse(line: string): AuditEntry {
  const event = JSON.parse(line);
  const { resource = '', subresource, namespace = '', name = '' } = event.objectRef ?? {};
  return {
    agent: event.userAgent,
    verb: event.verb,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    namespace,
    name,
    code: event.responseStatus?.code ?? 0,
    received: timeOf(event.requestReceivedTimestamp),
    answered: timeOf(event.stageTimestamp),
  };
}

/** `Date` knows milliseconds only. */
function timeOf(text: string): number {
  const micros = Number(/\.(\d{6})Z$/.exec(text)?.[1] ?? 0);
  return Math.floor(Date.parse(text) / 1000) * 1000 + micros / 1000;
}

export function isWrite({ verb }: AuditEntry): boolean {
  return writeVerbs.has(verb);
}

/** Numbers of entries by `<resource> <verb>`. */
export function countByKind(entries: readonly AuditEntry[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { resource, verb } of entries) {
    const name = `${resource} ${verb}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}
