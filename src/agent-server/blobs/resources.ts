import { errorCodes, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import { blobIn } from '#wire/blobs.ts';
import type { CallContext, Source } from '../source.ts';
import { resourceNotFound } from '../tools/command-source.ts';
import type { Blobs } from './service.ts';
import { untilAborted } from './until-aborted.ts';

/** The same source, whose blobs are resources too: resources/read gives those that are not too large for an answer. */
export function withBlobs(source: Source, blobs: Blobs, agent: string): Source {
  const request: Source['request'] = async (method, params, call) => {
    const named = method === 'resources/read' ? blobIn(String(params['uri'])) : undefined;
    if (named === undefined || (named.agent ?? agent) !== agent) return source.request(method, params, call);
    return read(String(params['uri']), named.id, blobs, call);
  };
  return Object.create(source, { request: { value: request } }) as Source;
}

async function read(uri: string, id: string, { store, limits }: Blobs, call: CallContext): Promise<Result> {
  const found = await store.find(id);
  if (found === undefined) throw resourceNotFound(uri, call);
  try {
    const { mime, size, agent } = found.info;
    if (size > limits.maxReadBytes) {
      const message = `${uri} has ${size} bytes, more than ${limits.maxReadBytes}: GET /blobs/${agent}/${id} gives it`;
      throw new RpcError(errorCodes.invalidParams, message, { uri });
    }
    const content = await untilAborted(found.read(), call.signal);
    const text = isText(mime) ? asText(content) : undefined;
    const given = text === undefined ? { blob: content.toString('base64') } : { text };
    return { contents: [{ uri, mimeType: mime, ...given }] };
  } finally {
    await found.close();
  }
}

function isText(mime: string): boolean {
  return /^text\/|^application\/(?:[a-z0-9.+-]*\+)?(?:json|xml|yaml)\b/i.test(mime);
}

/** Undefined for what is no UTF-8. */
function asText(content: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    return undefined;
  }
}
