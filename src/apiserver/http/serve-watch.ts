import type { ServerResponse } from 'node:http';
import { type ApiError, badRequest } from '../api-error.ts';
import type { Engine } from '../engine.ts';
import { forbiddenField, invalid } from '../field-error.ts';
import type { ApiObject } from '../object.ts';
import type { Entry } from '../store/history.ts';
import { tableEncoder } from '../table/encode.ts';
import { type ListOptions, listObjects, parseVersion, selects, tooLarge } from '../verbs/list.ts';
import type { Target } from '../verbs/target.ts';
import { jsonEncoder, partialEncoder } from '../watch/encode.ts';
import type { EventEncoder, WatchSink } from '../watch/hub.ts';
import type { Exchange } from './exchange.ts';
import { includeObject, readListOptions, wantedOf } from './serve-list.ts';

/** GET of a collection with `watch=true`: a stream of one JSON event a line. */
export function serveWatch(engine: Engine, exchange: Exchange, target: Target): void {
  const options = readListOptions(exchange, target);
  const initial = readsInitialEvents(exchange, options);
  const bookmarks = isTrue(exchange.query.get('allowWatchBookmarks'));
  const encoder = encoderOf(engine, exchange, target);
  const start = startVersion(engine, options, initial);
  const sink = sinkOf(exchange.response);
  const selective = options.labels !== undefined || options.fields !== undefined;
  const request = {
    storage: target.kind.storage,
    prefix: target.namespace === undefined ? '' : `${target.namespace}/`,
    selects: selective ? (object: ApiObject) => selects(options, object) : undefined,
    encoder,
    sink,
    bookmarks,
  };
  const before = start.snapshot ? initialLines(engine, target, options, encoder) : '';
  const end = bookmarks && initial ? encoder.bookmark(start.version, true) : '';
  const stream = afterHead(exchange, sink, before + end);
  const close = engine.hub.open({ ...request, sink: stream }, start.version);
  stream.write('');
  limitTime(engine, exchange, sink, close);
}

/**
 * Writes the head and the first lines before anything that the hub sends. The present state, which may be large,
 * does not count as unread until the client had the time to read it once.
 */
function afterHead(exchange: Exchange, sink: WatchSink, first: string): WatchSink {
  let begun = false;
  let allowance = 0;
  const begin = () => {
    if (begun) return;
    begun = true;
    exchange.response.writeHead(200, {
      'Content-Type': 'application/json',
      'Cache-Control': 'no-cache, private',
    });
    exchange.response.flushHeaders();
    if (first === '') return;
    sink.write(first);
    allowance = sink.buffered();
  };
  return {
    ...sink,
    buffered() {
      allowance = Math.min(allowance, sink.buffered());
      return sink.buffered() - allowance;
    },
    write(text) {
      begin();
      if (text !== '') sink.write(text);
    },
  };
}

function readsInitialEvents(exchange: Exchange, options: ListOptions): boolean {
  const asked = exchange.query.get('sendInitialEvents');
  const name = { group: 'meta.k8s.io', plural: '', kind: 'ListOptions' };
  if (asked === null) {
    if (options.resourceVersionMatch !== undefined)
      throw invalid(name, '', [
        forbiddenField(
          'resourceVersionMatch',
          'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
        ),
      ]);
    return false;
  }
  if (options.resourceVersionMatch !== 'NotOlderThan')
    throw invalid(name, '', [
      forbiddenField(
        'resourceVersionMatch',
        'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
      ),
    ]);
  return isTrue(asked);
}

/** Where the stream starts, and whether the present state comes first. */
function startVersion(
  engine: Engine,
  options: ListOptions,
  initial: boolean,
): { version: number; snapshot: boolean } {
  const now = engine.store.version;
  const text = options.resourceVersion ?? '';
  // A version from the future is waited for, as the API server does.
  if (initial && text !== '' && text !== '0' && parseVersion(text) > now)
    throw tooLarge(parseVersion(text), now);
  if (initial) return { version: now, snapshot: true };
  if (text === '' || text === '0')
    return { version: now, snapshot: options.resourceVersionMatch === undefined };
  return { version: parseVersion(text), snapshot: false };
}

function initialLines(engine: Engine, target: Target, options: ListOptions, encoder: EventEncoder): string {
  const everything = {
    ...options,
    limit: 0,
    continueToken: undefined,
    resourceVersion: undefined,
    resourceVersionMatch: undefined,
  };
  let lines = '';
  let page = listObjects(engine, target, everything);
  for (;;) {
    lines += page.entries.map((entry: Entry) => encoder.line('ADDED', entry)).join('');
    if (page.continueToken === undefined) return lines;
    page = listObjects(engine, target, { ...everything, continueToken: page.continueToken });
  }
}

function encoderOf(engine: Engine, exchange: Exchange, target: Target): EventEncoder {
  const wanted = wantedOf(exchange);
  if (wanted.type === 'table')
    return tableEncoder(target.kind, wanted.version, engine.clock, includeObject(exchange));
  return wanted.type === 'partial' ? partialEncoder(target.kind, wanted.version) : jsonEncoder(target.kind);
}

function sinkOf(response: ServerResponse): WatchSink {
  return {
    write: (text) => void response.write(text),
    buffered: () => response.writableLength,
    end: (abrupt) => void (abrupt ? response.destroy() : response.end()),
  };
}

/** Ends the stream after timeoutSeconds, or after a time of the server's choice. */
function limitTime(engine: Engine, exchange: Exchange, sink: WatchSink, close: () => void): void {
  const asked = Number(exchange.query.get('timeoutSeconds') ?? 0);
  if (!Number.isFinite(asked) || asked < 0) {
    close();
    throw badRequest('timeoutSeconds must be a number of seconds');
  }
  const seconds = asked > 0 ? asked : engine.limits.watchSeconds * (1 + engine.random.fraction());
  const cancel = engine.clock.after(Math.min(seconds * 1000, 2 ** 31 - 1), () => {
    close();
    sink.end(false);
  });
  exchange.response.on('close', () => {
    cancel();
    close();
  });
}

/** In-band 410 for a watch that cannot start where it was asked to: the real server answers 200 and then the error. */
export function serveWatchError(exchange: Exchange, error: ApiError): void {
  exchange.response.writeHead(200, {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-cache, private',
  });
  exchange.response.end(`${JSON.stringify({ type: 'ERROR', object: error.status() })}\n`);
}

export function isTrue(value: string | null): boolean {
  return value !== null && /^(true|1|t)$/i.test(value);
}
