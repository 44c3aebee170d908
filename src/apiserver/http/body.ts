import { messageOf } from '#kit/errors.ts';
import { ApiError, badRequest } from '../api-error.ts';
import { unsupportedMediaType } from '../verbs/decode.ts';
import { duplicateFields } from './duplicates.ts';
import type { Exchange } from './exchange.ts';
import { protobufType, readProtobuf } from './protobuf.ts';

/** Reads the body as UTF-8 text. Throws 413 as soon as it is over `limit` bytes. */
export async function readBody(exchange: Exchange, limit: number): Promise<string> {
  return (await readBytes(exchange, limit)).toString('utf8');
}

async function readBytes(exchange: Exchange, limit: number): Promise<Buffer> {
  if (Number(exchange.header('content-length') || 0) > limit) throw tooLarge(limit);
  const encoding = exchange.header('content-encoding');
  if (encoding !== '' && encoding !== 'identity')
    throw new ApiError(
      'UnsupportedMediaType',
      `Content-Encoding ${encoding} is not supported: send the body as it is`,
    );
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of exchange.request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Reads a body that is an object or options: JSON, or Kubernetes' protobuf for built-in kinds.
 * Undefined when it is empty; members said twice are added to `duplicates`. Throws 415 for another media type.
 */
export async function readObjectBody(
  exchange: Exchange,
  limit: number,
  duplicates: string[] = [],
): Promise<unknown> {
  const type = exchange.contentType;
  if (type === protobufType) return readProtobuf(await readBytes(exchange, limit));
  if (type !== '' && type !== 'application/json')
    throw unsupportedMediaType(['application/json', protobufType]);
  const text = await readBody(exchange, limit);
  const value = parseJson(text);
  duplicates.push(...duplicateFields(text));
  return value;
}

/** Parses JSON. Throws 400 that says where it breaks. An empty text is undefined. */
export function parseJson(text: string): unknown {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badRequest(`the body is not valid JSON: ${messageOf(error)}`);
  }
}

function tooLarge(limit: number): ApiError {
  return new ApiError('RequestEntityTooLarge', `Request entity too large: limit is ${limit}`);
}
