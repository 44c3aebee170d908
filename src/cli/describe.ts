import { stringify } from 'yaml';
import type { CoreEvent } from '#api/core-kinds.ts';
import type { Condition, KubeObject } from '#api/meta.ts';
import { isObject } from '#kit/json.ts';
import { formatAge } from './age.ts';
import { lastSeenOf } from './event-time.ts';
import { formatTable } from './table.ts';
import { harmless, type Terminal } from './terminal.ts';

/** An object for people: names, spec, status, conditions, events. Values of Secrets are not shown. */
export function describeObject(
  object: KubeObject,
  events: readonly CoreEvent[],
  { terminal, now }: { terminal: Terminal; now: number },
): string {
  const { spec, status, data } = object as KubeObject & Record<'spec' | 'status' | 'data', unknown>;
  const { conditions, ...rest } = isObject(status) ? status : {};
  const sections = [
    describeMetadata(object, now),
    section(terminal, 'Data', isObject(data) ? sizes(data) : undefined),
    section(terminal, 'Spec', spec),
    section(terminal, 'Status', rest),
    conditionSection(terminal, Array.isArray(conditions) ? (conditions as Condition[]) : [], now),
    eventSection(terminal, events, now),
  ];
  return harmless(sections.filter((text) => text !== '').join('\n\n'));
}

function describeMetadata({ metadata, kind }: KubeObject, now: number): string {
  const rows: [string, string | undefined][] = [
    ['Name', metadata.name],
    ['Namespace', metadata.namespace],
    ['Kind', kind],
    ['Labels', pairs(metadata.labels)],
    ['Annotations', pairs(metadata.annotations)],
    ['Created', `${metadata.creationTimestamp ?? '?'} (${formatAge(metadata.creationTimestamp, now)} ago)`],
    ['Deleting', metadata.deletionTimestamp],
    ['UID', metadata.uid],
  ];
  const told = rows.filter(([, value]) => value !== undefined && value !== '');
  return told.map(([name, value]) => `${`${name}:`.padEnd(13)}${value}`).join('\n');
}

function pairs(map: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(map ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');
}

function sizes(data: Record<string, unknown>): Record<string, string> {
  const size = (value: unknown) => `${String(value).length} characters`;
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, size(value)]));
}

function section(terminal: Terminal, title: string, value: unknown): string {
  if (!isObject(value) || Object.keys(value).length === 0) return '';
  const body = stringify(value).trimEnd().replaceAll(/^/gm, '  ');
  return `${terminal.style('bold', `${title}:`)}\n${body}`;
}

function conditionSection(terminal: Terminal, conditions: readonly Condition[], now: number): string {
  if (conditions.length === 0) return '';
  const rows = conditions.map(({ type, status, reason, lastTransitionTime, message }) => [
    `  ${type}`,
    status,
    reason,
    formatAge(lastTransitionTime, now),
    message.replaceAll('\n', ' ⏎ '),
  ]);
  const table = formatTable(['  TYPE', 'STATUS', 'REASON', 'SINCE', 'MESSAGE'], rows);
  return `${terminal.style('bold', 'Conditions:')}\n${table}`;
}

function eventSection(terminal: Terminal, events: readonly CoreEvent[], now: number): string {
  if (events.length === 0) return '';
  const rows = events.map((event) => [
    `  ${event.type ?? ''}`,
    event.reason ?? '',
    `${formatAge(lastSeenOf(event), now)}${count(event.count)}`,
    (event.message ?? '').replaceAll('\n', ' ⏎ '),
  ]);
  const table = formatTable(['  TYPE', 'REASON', 'AGE', 'MESSAGE'], rows);
  return `${terminal.style('bold', 'Events:')}\n${table}`;
}

function count(times: number | undefined): string {
  return times !== undefined && times > 1 ? ` (x${times})` : '';
}
