import { isObject } from '#kit/json.ts';
import { metaKeys, statelessRevisions } from '#mcp/eras.ts';
import { errorCodes } from '#mcp/jsonrpc.ts';
import type { Target } from '#routing/target.ts';
import { bindMessage } from '#wire/binding.ts';
import { anonymous } from '../caller.ts';
import { RouterError } from '../errors.ts';
import type { RouterLimits } from '../limits.ts';
import { readAnswer } from '../mcp/read-answer.ts';
import { collect } from '../upstream/collect.ts';
import type { Sender } from '../upstream/send.ts';
import { noteClean } from './clean-once.ts';
import { type CatalogKind, type Item, type ListKind, listKinds } from './list-kinds.ts';

const revision = statelessRevisions[0] ?? '';

export interface FetchOptions {
  readonly sender: Sender;
  readonly limits: RouterLimits;
  readonly version: string;
  readonly signal: AbortSignal;
}

/**
 * Everything that an agent lists of one kind, or the one thing that it says of itself, in the stateless era so that
 * no session is made. An agent that does not know the method has none. Throws RouterError.
 */
export async function fetchItems(target: Target, kind: CatalogKind, options: FetchOptions): Promise<Item[]> {
  if (kind !== 'about') return fetchList(target, kind, options);
  const about = await ask(target, 'server/discover', {}, options);
  return about === undefined ? [] : [about.result];
}

async function fetchList(target: Target, kind: ListKind, options: FetchOptions): Promise<Item[]> {
  const { method, member, key } = listKinds[kind];
  const items: Item[] = [];
  const { listBytes, listItems, listPages, nameChars } = options.limits;
  let bytes = 0;
  let pages = 0;
  let cursor: string | undefined;
  do {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await ask(target, method, params, options);
    if (answer === undefined) return items;
    const { result, text } = answer;
    bytes += text.length;
    if (++pages > listPages) throw answerError(target, `its ${member} are on more than ${listPages} pages`);
    if (bytes > listBytes) throw answerError(target, `its ${member} are longer than ${listBytes} bytes`);
    const page = result[member];
    if (!Array.isArray(page)) throw answerError(target, `its ${member} are no list`);
    const listed: Item[] = page.filter((item) => isObject(item) && typeof item[key] === 'string');
    if (listed.some((item) => String(item[key]).length > nameChars))
      throw answerError(target, `one of its ${member} has a ${key} of more than ${nameChars} characters`);
    noteClean(listed, text);
    items.push(...listed);
    if (items.length > listItems) throw answerError(target, `it lists more than ${listItems} ${member}`);
    const next = result['nextCursor'];
    cursor = typeof next === 'string' && next !== cursor ? next : undefined;
  } while (cursor !== undefined);
  return items;
}

interface Answered {
  readonly result: Record<string, unknown>;
  /** The whole answer as it came. */
  readonly text: string;
}

async function ask(
  target: Target,
  method: string,
  params: Readonly<Record<string, unknown>>,
  { sender, limits, version, signal }: FetchOptions,
): Promise<Answered | undefined> {
  const client = { name: 'ploinky-router', version };
  const meta = {
    [metaKeys.protocolVersion]: revision,
    [metaKeys.clientCapabilities]: {},
    [metaKeys.clientInfo]: client,
  };
  const message = {
    jsonrpc: '2.0',
    id: 1,
    method,
    params: { _meta: meta, ...params },
  };
  const call = {
    agent: `${target.namespace}/${target.name}`,
    method: 'POST',
    path: '/mcp',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': revision,
      'mcp-method': method,
    },
    body: JSON.stringify(message),
    binding: bindMessage(message),
    caller: anonymous,
    mcp: { revision, client },
    silenceMs: limits.listTimeoutMs,
    readyWaitMs: 0,
  };
  const collected = await collect(sender, call, { maxBytes: limits.listBytes, signal });
  const answer = readAnswer(collected, 1, { agent: target.name, maxDepth: limits.jsonDepth });
  if (answer === undefined) throw answerError(target, 'it sent no JSON-RPC answer');
  if ('result' in answer) return { result: answer.result, text: collected.text };
  if (answer.error.code === errorCodes.methodNotFound) return undefined;
  throw answerError(target, answer.error.message);
}

function answerError(target: Target, problem: string): RouterError {
  return new RouterError('AgentAnswer', `Agent '${target.name}' cannot be listed: ${problem}`, {
    agents: [target.name],
  });
}
