import { isObject } from '#kit/json.ts';
import { metaKeys, statelessRevisions } from '#mcp/eras.ts';
import { errorCodes } from '#mcp/jsonrpc.ts';
import type { Target } from '#routing/target.ts';
import { bindMessage } from '#wire/binding.ts';
import { anonymous } from '../caller.ts';
import { RouterError } from '../errors.ts';
import type { RouterLimits } from '../limits.ts';
import { readAnswer } from '../mcp/read-answer.ts';
import { type Answer, collect } from '../upstream/collect.ts';
import type { AgentCall, Sender } from '../upstream/send.ts';
import { isPlain, notePlain } from './clean-once.ts';
import { type CatalogKind, type Item, type ListKind, listKinds } from './list-kinds.ts';

const revision = statelessRevisions[0] ?? '';

export interface FetchOptions {
  readonly sender: Sender;
  readonly limits: RouterLimits;
  readonly version: string;
}

/**
 * Everything that an agent lists of one kind, or the one thing that it says of itself, in the stateless era so that
 * no session is made. An agent that does not know the method has none. `before` is what it listed when it was last
 * asked, and the very answer when it says the same again. Rejects with RouterError.
 */
export type FetchItems = (
  target: Target,
  kind: CatalogKind,
  signal: AbortSignal,
  before?: readonly Item[],
) => Promise<readonly Item[]>;

/** In which words a list was said that came on one page. */
const wordsOf = new WeakMap<readonly Item[], string>();

export function createFetchItems(options: FetchOptions): FetchItems {
  const fetcher = { ...options, firstPages: createQuestions(options.version) };
  return (target, kind, signal, before) =>
    kind === 'about'
      ? fetchAbout(fetcher, target, signal)
      : fetchList(fetcher, { target, kind, signal, before });
}

interface Fetcher extends FetchOptions {
  /** For a method without a cursor. */
  readonly firstPages: (method: string) => Question;
}

async function fetchAbout(fetcher: Fetcher, target: Target, signal: AbortSignal): Promise<Item[]> {
  const said = await hear(fetcher, target, fetcher.firstPages('server/discover'), signal);
  const about = resultIn(fetcher, target, said);
  return about === undefined ? [] : [about];
}

interface Asked {
  readonly target: Target;
  readonly kind: ListKind;
  readonly signal: AbortSignal;
  readonly before: readonly Item[] | undefined;
}

async function fetchList(
  fetcher: Fetcher,
  { target, kind, signal, before }: Asked,
): Promise<readonly Item[]> {
  const { method, member, key } = listKinds[kind];
  const items: Item[] = [];
  const { listBytes, listItems, listPages, nameChars } = fetcher.limits;
  let bytes = 0;
  let pages = 0;
  let plain = true;
  let cursor: string | undefined;
  do {
    const question =
      cursor === undefined ? fetcher.firstPages(method) : questionOf(fetcher.version, method, { cursor });
    const said = await hear(fetcher, target, question, signal);
    const { text } = said;
    if (cursor === undefined && before !== undefined && wordsOf.get(before) === text) return before;
    const result = resultIn(fetcher, target, said);
    if (result === undefined) return items;
    bytes += text.length;
    if (++pages > listPages) throw answerError(target, `its ${member} are on more than ${listPages} pages`);
    if (bytes > listBytes) throw answerError(target, `its ${member} are longer than ${listBytes} bytes`);
    const page = result[member];
    if (!Array.isArray(page)) throw answerError(target, `its ${member} are no list`);
    const listed: Item[] = page.filter((item) => isObject(item) && typeof item[key] === 'string');
    if (listed.some((item) => String(item[key]).length > nameChars))
      throw answerError(target, `one of its ${member} has a ${key} of more than ${nameChars} characters`);
    plain &&= isPlain(text);
    items.push(...listed);
    if (items.length > listItems) throw answerError(target, `it lists more than ${listItems} ${member}`);
    const next = result['nextCursor'];
    cursor = typeof next === 'string' && next !== cursor ? next : undefined;
    if (cursor === undefined && pages === 1) wordsOf.set(items, text);
  } while (cursor !== undefined);
  if (plain) notePlain(items);
  return items;
}

/** What an agent is asked, but for whom it is. */
type Question = Omit<AgentCall, 'agent' | 'silenceMs'>;

/** Every agent is asked the same: each question is made once. */
function createQuestions(version: string): (method: string) => Question {
  const known = new Map<string, Question>();
  return (method) => {
    const question = known.get(method) ?? questionOf(version, method, {});
    known.set(method, question);
    return question;
  };
}

function questionOf(version: string, method: string, params: Readonly<Record<string, unknown>>): Question {
  const client = { name: 'ploinky-router', version };
  const meta = {
    [metaKeys.clientCapabilities]: {},
    [metaKeys.clientInfo]: client,
    [metaKeys.protocolVersion]: revision,
  };
  const message = { jsonrpc: '2.0', id: 1, method, params: { _meta: meta, ...params } };
  return {
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
    readyWaitMs: 0,
  };
}

/** The agent's answer as it came. */
function hear(
  { sender, limits }: Fetcher,
  target: Target,
  question: Question,
  signal: AbortSignal,
): Promise<Answer> {
  const call = {
    ...question,
    agent: `${target.namespace}/${target.name}`,
    silenceMs: limits.listTimeoutMs,
  };
  return collect(sender, call, { maxBytes: limits.listBytes, signal });
}

/** What the answer says; undefined when the agent does not know the method. */
function resultIn({ limits }: Fetcher, target: Target, said: Answer): Record<string, unknown> | undefined {
  const answer = readAnswer(said, 1, { agent: target.name, maxDepth: limits.jsonDepth });
  if (answer === undefined) throw answerError(target, 'it sent no JSON-RPC answer');
  if ('result' in answer) return answer.result;
  if (answer.error.code === errorCodes.methodNotFound) return undefined;
  throw answerError(target, answer.error.message);
}

function answerError(target: Target, problem: string): RouterError {
  return new RouterError('AgentAnswer', `Agent '${target.name}' cannot be listed: ${problem}`, {
    agents: [target.name],
  });
}
