import { RouterError } from '../errors.ts';
import type { AgentCall, AnswerHeaders, Sender } from './send.ts';

export interface Answer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly text: string;
}

export interface CollectOptions {
  /** Bytes; a longer answer is an error. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

/** Sends a call and waits for its whole answer. Throws RouterError. */
export function collect(sender: Sender, call: AgentCall, options: CollectOptions): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  sender.send(call, (flow) => {
    const chunks: Buffer[] = [];
    let status = 0;
    let headers: AnswerHeaders = {};
    let size = 0;
    const stop = () => {
      flow.abort();
      reject(
        new RouterError('AgentTimeout', `Agent '${nameOf(call)}' did not answer in time.`, {
          agents: [nameOf(call)],
        }),
      );
    };
    if (options.signal?.aborted) queueMicrotask(stop);
    options.signal?.addEventListener('abort', stop, { once: true });
    const settle = (outcome: () => void) => {
      options.signal?.removeEventListener('abort', stop);
      outcome();
    };
    return {
      head(code, received) {
        status = code;
        headers = received;
      },
      data(chunk) {
        size += chunk.length;
        if (size > options.maxBytes) {
          flow.abort();
          const message = `The answer of agent '${nameOf(call)}' is longer than ${options.maxBytes} bytes.`;
          settle(() => reject(new RouterError('AgentAnswer', message, { agents: [nameOf(call)] })));
        } else chunks.push(chunk);
        return true;
      },
      ended: () => settle(() => resolve({ status, headers, text: textOf(chunks) })),
      failed: (error) => settle(() => reject(error)),
    };
  });
  return promise;
}

/** Almost every answer comes in one piece. */
function textOf(chunks: readonly Buffer[]): string {
  const [only] = chunks;
  const whole = only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks);
  return whole.toString('utf8');
}

function nameOf(call: AgentCall): string {
  return call.agent.slice(call.agent.indexOf('/') + 1);
}
