import { metaKeys } from '#mcp/eras.ts';
import { until } from '../harness/scope.ts';
import { Caller, Tally } from './caller.ts';
import { askToTheEnd, type Message, openStream } from './event-client.ts';

/** A call of the tool `ask` whose client has been asked and has not answered yet. */
export interface PendingAsk {
  /** Answers; resolves when the call's own answer is there. Rejects when it is another than it should be. */
  answer(): Promise<void>;
  /** How often its stream was taken up again. */
  readonly resumed: number;
}

export interface AskOptions {
  readonly port: number;
  readonly path: string;
  /** Names the call. */
  readonly text: string;
}

const accepted = { action: 'accept', content: { name: 'Ana' } };

/** A client of 2025-11-25: it is asked on the stream of its call, and answers with a request of its own. */
export async function askWithSession({ port, path, text }: AskOptions): Promise<PendingAsk> {
  const client = new Caller({ port, path, tally: new Tally(), resend: true });
  await client.open({ elicitation: {} });
  let question: Message | undefined;
  let resumed = 0;
  const params = { name: 'ask', arguments: { text } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const answered = askToTheEnd(
    { port, path, method: 'POST', headers: client.headers, body },
    1,
    (message) => {
      if (message.method === 'elicitation/create') question = message;
    },
    () => {
      resumed += 1;
    },
  );
  answered.catch(() => undefined);
  await Promise.race([until('the client is asked', async () => question, 60_000), answered]);
  return {
    get resumed() {
      return resumed;
    },
    async answer() {
      const reply = await client.post({ jsonrpc: '2.0', id: question?.id, result: accepted });
      if (reply.status !== 202) throw new Error(`the answer was refused: ${reply.status} ${reply.body}`);
      checkAnswer(await answered, text);
      client.close();
    },
  };
}

/** A client of 2026-07-28: it is asked by the result of its call, and calls again with its answer. */
export async function askStateless({ port, path, text }: AskOptions): Promise<PendingAsk> {
  const call = (more: object) => callStateless(port, path, text, more);
  const { result = {} } = await call({});
  const { resultType, inputRequests, requestState } = result;
  if (resultType !== 'input_required') throw new Error(`not asked: ${JSON.stringify(result)}`);
  const keys = Object.keys(inputRequests as object);
  const inputResponses = Object.fromEntries(keys.map((key) => [key, accepted]));
  return {
    resumed: 0,
    async answer() {
      checkAnswer(await call({ inputResponses, requestState }), text);
    },
  };
}

const revision = '2026-07-28';

async function callStateless(port: number, path: string, text: string, more: object): Promise<Message> {
  const _meta = {
    [metaKeys.protocolVersion]: revision,
    [metaKeys.clientCapabilities]: { elicitation: { form: {} } },
  };
  const params = { name: 'ask', arguments: { text }, ...more, _meta };
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': revision,
    'mcp-method': 'tools/call',
    'mcp-name': 'ask',
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  let answer: Message | undefined;
  const stream = openStream({ port, path, method: 'POST', headers, body }, (message) => {
    if (message.id === 1) answer = message;
  });
  await stream.ended;
  if (answer === undefined) throw new Error(`no answer to ${text}`);
  return answer;
}

function checkAnswer(message: Message, text: string): void {
  const said = JSON.stringify(message.result?.['content'] ?? message);
  if (!said.includes(`"${text}: accept"`)) throw new Error(`a wrong answer to ${text}: ${said}`);
}
