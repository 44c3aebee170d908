import { isObject } from '#kit/json.ts';
import type { Answered } from '../client.ts';
import { objectOf, type Request } from './request.ts';

/** What one server has said so far in one sequence: what `$`-words stand for. */
export class Memory {
  readonly namespace: string;
  readonly #seen = new Map<string, Answered[]>();
  #continue = 'none';

  constructor(namespace: string) {
    this.namespace = namespace;
  }

  /** Takes note of an answer. */
  note(request: Request, status: number, body: Answered): void {
    const token = body?.metadata?.continue;
    if (typeof token === 'string' && token !== '') this.#continue = token;
    const version = body?.metadata?.resourceVersion;
    const name = body?.metadata?.name;
    if (status > 201 || typeof version !== 'string' || typeof name !== 'string') return;
    if (body.kind === 'Scale' || /dryRun=All/.test(request.path)) return;
    const place = objectOf(request.path) ?? `${request.path.split('?')[0]}/${name}`;
    const list = this.#seen.get(place) ?? [];
    this.#seen.set(place, list);
    if (list.at(-1)?.metadata.resourceVersion !== version) list.push(body);
  }

  /** The path of a request with everything filled in, and its body. */
  fill(request: Request): { path: string; body: unknown } {
    const place = objectOf(request.path) ?? '';
    const path = request.path
      .replaceAll('$fresh', this.#version(place, 1))
      .replaceAll('$continue', encodeURIComponent(this.#continue));
    const body =
      request.change === undefined
        ? request.body
        : changed(this.#seen.get(place)?.at(-1) ?? {}, request.change);
    return { path, body: this.#fillIn(body, place) };
  }

  #fillIn(value: unknown, place: string): unknown {
    if (typeof value === 'string') return this.#word(value, place);
    if (Array.isArray(value)) return value.map((item) => this.#fillIn(item, place));
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, this.#fillIn(one, place)]));
  }

  #word(text: string, place: string): string {
    if (text === '$fresh') return this.#version(place, 1);
    if (text === '$stale') return this.#version(place, 2);
    if (text === '$uid') return this.#uid(place);
    if (text.startsWith('$uid:')) return this.#uid(text.slice('$uid:'.length));
    return text.replaceAll('$ns', this.namespace);
  }

  #version(place: string, back: number): string {
    return this.#seen.get(place)?.at(-back)?.metadata.resourceVersion ?? '1';
  }

  #uid(place: string): string {
    return this.#seen.get(place)?.at(-1)?.metadata.uid ?? '00000000-0000-4000-8000-000000000000';
  }
}

/** A merge patch of the test's own: what is patched must not depend on the code under test. */
function changed(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch))
    if (value === null) delete result[key];
    else result[key] = changed(result[key], value);
  return result;
}
