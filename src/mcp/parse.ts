import {
  errorCodes,
  isNotification,
  isRequest,
  isResponse,
  type JsonRpcMessage,
  RpcError,
} from './jsonrpc.ts';

export interface ParseLimits {
  /** Levels of nesting. Deeper JSON would overflow the stack of whoever walks it. Default 64. */
  readonly maxDepth: number;
  /** Members of objects and items of lists, all together: objects of millions take seconds. Default 100,000. */
  readonly maxMembers: number;
  /** Messages in one batch. Default 50. */
  readonly maxBatch: number;
}

const defaultParseLimits: ParseLimits = { maxDepth: 64, maxMembers: 100_000, maxBatch: 50 };

export interface ParsedBody {
  /** The body was an array: answers go back as an array (revisions before 2025-06-18). */
  readonly batch: boolean;
  /** At least one. */
  readonly messages: readonly JsonRpcMessage[];
}

/** What is no JSON, or JSON beyond the limits: nothing in it was looked at. */
export class UnreadableBody extends RpcError {}

/**
 * Parses the body of a POST. The byte limit is the reader's business.
 * Throws RpcError `parse` for what is not JSON and `invalidRequest` for JSON that is not JSON-RPC,
 * too deep, too many members, an empty batch or too large a one.
 */
export function parseBody(text: string, limits: ParseLimits = defaultParseLimits): ParsedBody {
  return readMessages(parseJson(text, limits), limits);
}

/** As parseBody, for JSON that is already parsed (with parseJson, so that its depth is known). */
export function readMessages(
  body: unknown,
  limits: Pick<ParseLimits, 'maxBatch'> = defaultParseLimits,
): ParsedBody {
  if (!Array.isArray(body)) return { batch: false, messages: [readMessage(body)] };
  if (body.length === 0) throw new RpcError(errorCodes.invalidRequest, 'Invalid Request: empty batch');
  if (body.length > limits.maxBatch) {
    throw new RpcError(
      errorCodes.invalidRequest,
      `Invalid Request: a batch holds at most ${limits.maxBatch} messages, this one ${body.length}`,
    );
  }
  return { batch: true, messages: body.map(readMessage) };
}

/** JSON.parse with limits on nesting and on the number of values. Throws UnreadableBody. */
export function parseJson(
  text: string,
  { maxDepth, maxMembers }: Pick<ParseLimits, 'maxDepth' | 'maxMembers'> = defaultParseLimits,
): unknown {
  // In this order each ends soon where the other would look through all of the text.
  if (text.length > 2 * maxMembers && hasMoreMembers(text, maxMembers)) {
    throw new UnreadableBody(
      errorCodes.invalidRequest,
      `Invalid Request: JSON has more than ${maxMembers} members and items`,
    );
  }
  if (text.length > 2 * maxDepth && nestsDeeper(text, maxDepth)) {
    throw new UnreadableBody(
      errorCodes.invalidRequest,
      `Invalid Request: JSON nests deeper than ${maxDepth} levels`,
    );
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new UnreadableBody(errorCodes.parse, 'Parse error: the body is not valid JSON');
  }
}

function readMessage(body: unknown): JsonRpcMessage {
  if (isRequest(body) || isNotification(body) || isResponse(body)) return body;
  throw new RpcError(errorCodes.invalidRequest, 'Invalid Request: the body is not a JSON-RPC 2.0 message');
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;

/** Counts brackets outside strings; right for valid JSON, and harmless for other text. */
export function nestsDeeper(text: string, limit: number): boolean {
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit === quote) index = endOfString(text, index);
    else if (unit === 0x7b || unit === 0x5b) {
      if (++depth > limit) return true;
    } else if (unit === 0x7d || unit === 0x5d) depth--;
  }
  return false;
}

/** Counts commas outside strings, each of which stands before one more, and the first of each object and list. */
function hasMoreMembers(text: string, limit: number): boolean {
  let members = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit === quote) index = endOfString(text, index);
    else if (unit === comma || ((unit === 0x7b || unit === 0x5b) && !isEmpty(text, index)))
      if (++members > limit) return true;
  }
  return false;
}

/** Whether the object or list that is opened at `start` is closed with nothing in it but blanks. */
function isEmpty(text: string, start: number): boolean {
  let next = start + 1;
  let unit = text.charCodeAt(next);
  while (unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09) unit = text.charCodeAt(++next);
  return unit === 0x7d || unit === 0x5d;
}

/** Index of the quote that closes the string opened at `start`, or the end of the text. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

function isEscaped(text: string, position: number): boolean {
  let slashes = 0;
  while (text.charCodeAt(position - 1 - slashes) === backslash) slashes++;
  return slashes % 2 === 1;
}
