import { createHash } from 'node:crypto';
import type { Exchange } from '../http/exchange.ts';
import { apiVersionOf, type Kind } from '../kinds/kind.ts';
import { openApiDocument, schemasOf } from '../openapi/document.ts';
import { referenceV2 } from '../openapi/names.ts';
import { aggregatedDiscovery, groupsOf } from './aggregated.ts';
import { coreVersions, groupList, groupOf } from './groups.ts';
import { resourceList } from './resources.ts';

/** What the server says about itself: health, version, discovery and OpenAPI. All of it is fixed at the start. */
export interface Documents {
  /** Answers health checks, which need no token. True when it answered. */
  health(exchange: Exchange): boolean;
  serve(exchange: Exchange): boolean;
}

interface Document {
  readonly type: string;
  readonly body: string;
  readonly etag: string;
}

/** The Kubernetes release whose API this server follows: clients adapt to it. */
export const kubernetesVersion = { major: '1', minor: '36', gitVersion: 'v1.36.3+ploinky' };

export function createDocuments(kinds: readonly Kind[]): Documents {
  const plain = plainDocuments(kinds);
  const aggregated = aggregatedDocuments(kinds);
  return {
    health(exchange) {
      if (!['/healthz', '/readyz', '/livez'].includes(exchange.path) || !isRead(exchange)) return false;
      exchange.text(200, 'text/plain; charset=utf-8', 'ok');
      return true;
    },
    serve(exchange) {
      if (!isRead(exchange)) return false;
      const path = exchange.path.replace(/\/+$/, '');
      const found = aggregated.get(path)?.(exchange.header('accept')) ?? plain.get(path)?.();
      if (found === undefined) return false;
      answer(exchange, found);
      return true;
    },
  };
}

function isRead(exchange: Exchange): boolean {
  return exchange.method === 'GET' || exchange.method === 'HEAD';
}

function answer(exchange: Exchange, document: Document): void {
  exchange.response.setHeader('ETag', document.etag);
  exchange.response.setHeader('Vary', 'Accept');
  if (exchange.header('if-none-match') !== document.etag) {
    exchange.text(200, document.type, document.body);
    return;
  }
  exchange.response.writeHead(304).end();
}

function plainDocuments(kinds: readonly Kind[]): Map<string, () => Document> {
  const documents = new Map<string, () => Document>();
  const add = (path: string, make: () => unknown) => documents.set(path, once(make));
  add('/version', versionInfo);
  add('/api', () => coreVersions);
  add('/apis', () => groupList(kinds));
  add('/openapi/v2', () => openApiV2(kinds));
  const index: Record<string, { serverRelativeURL: string }> = {};
  for (const [group, versions] of groupsOf(kinds)) {
    if (group !== '') add(`/apis/${group}`, () => groupOf(kinds, group));
    for (const [version, list] of versions) {
      const path = group === '' ? `api/${version}` : `apis/${group}/${version}`;
      add(`/${path}`, () => resourceList(list));
      add(`/openapi/v3/${path}`, () => openApiDocument(list, kubernetesVersion.gitVersion));
      const hash = documents.get(`/openapi/v3/${path}`)?.().etag.replaceAll('"', '') ?? '';
      index[path] = { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` };
    }
  }
  add('/openapi/v3', () => ({ paths: index }));
  return documents;
}

function aggregatedDocuments(kinds: readonly Kind[]): Map<string, (accept: string) => Document | undefined> {
  const make = (core: boolean) => {
    const byVersion = new Map(
      ['v2', 'v2beta1'].map((version) => {
        const type = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
        return [version, once(() => aggregatedDiscovery(kinds, core, version), type)];
      }),
    );
    return (accept: string) => byVersion.get(aggregatedVersion(accept) ?? '')?.();
  };
  return new Map([
    ['/api', make(true)],
    ['/apis', make(false)],
  ]);
}

/** The first aggregated version that the Accept header names before plain JSON. */
function aggregatedVersion(accept: string): string | undefined {
  for (const alternative of accept.split(',')) {
    const parts = alternative.split(';').map((part) => part.trim());
    if (parts[0] !== 'application/json') continue;
    if (!parts.includes('as=APIGroupDiscoveryList')) return undefined;
    if (parts.includes('v=v2')) return 'v2';
    if (parts.includes('v=v2beta1')) return 'v2beta1';
  }
  return undefined;
}

function versionInfo() {
  return {
    ...kubernetesVersion,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: '',
    compiler: '',
    platform: '',
  };
}

function openApiV2(kinds: readonly Kind[]) {
  return {
    swagger: '2.0',
    info: { title: 'Ploinky workspace API', version: kubernetesVersion.gitVersion },
    paths: Object.fromEntries(kinds.map((kind) => [`/${apiVersionOf(kind)}/${kind.plural}`, {}])),
    definitions: schemasOf(kinds, referenceV2),
  };
}

function once(make: () => unknown, type = 'application/json'): () => Document {
  let made: Document | undefined;
  return () => {
    if (made === undefined) {
      const body = JSON.stringify(make());
      made = { type, body, etag: `"${createHash('sha256').update(body).digest('hex').toUpperCase()}"` };
    }
    return made;
  };
}
