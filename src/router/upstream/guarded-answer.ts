import type { IncomingMessage } from 'node:http';
import { knownCaller } from '../caller.ts';

type Headers = Record<string, string | string[]>;

/** What may be said to caches that serve many; a part of a header with arguments says it of the whole then. */
const forAll = /^(?:public|private|s-maxage|proxy-revalidate|stale-while-revalidate|stale-if-error)(?:=|$)/i;
const ofSharedCaches = /^(?:surrogate-control|(?:.+-)?cdn-cache-control)$/;

/**
 * Changes the headers of an answer that not everybody may see: kept by nobody but the browser that asked, whatever the
 * agent says, and given to nobody but whoever shows the same. Others stay as they are.
 */
export function keepGuarded(request: IncomingMessage, headers: Headers): Headers {
  if (knownCaller(request) === undefined) return headers;
  const said = textOf(headers['cache-control']).replace(/="[^"]*"/g, '');
  const left = partsOf(said).filter((part) => !forAll.test(part));
  for (const name of Object.keys(headers)) if (ofSharedCaches.test(name)) delete headers[name];
  headers['cache-control'] = ['private', ...left].join(', ');
  const vary = partsOf(textOf(headers['vary']));
  headers['vary'] = vary.includes('*') ? '*' : [...new Set(['cookie', 'authorization', ...vary])].join(', ');
  return headers;
}

function textOf(value: string | string[] | undefined): string {
  return [value ?? []].flat().join(', ');
}

function partsOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim().toLowerCase())
    .filter((part) => part !== '');
}
