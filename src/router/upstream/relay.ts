import type { ServerResponse } from 'node:http';
import type { RouterError } from '../errors.ts';
import type { AgentCall, AnswerHeaders, Sender } from './send.ts';

export interface RelayOptions {
  /** Headers for the client, from the agent's. */
  readonly headers: (headers: AnswerHeaders) => Record<string, string | string[]>;
  /** Writes the answer when the agent gave none; not called once its headers went out. */
  readonly fail: (error: RouterError) => void;
  /** Changes the body as it passes, when the headers say that it should. */
  readonly transform?: (headers: AnswerHeaders) => ((chunk: Buffer) => string | Buffer) | undefined;
}

/**
 * Streams the answer of a call to a client: backpressure both ways, a client that goes away ends the call,
 * an agent that breaks off in the middle breaks the client's connection too, so that nobody takes a part
 * for the whole.
 */
export function relay(sender: Sender, call: AgentCall, client: ServerResponse, options: RelayOptions): void {
  sender.send(call, (flow) => {
    let transform: ((chunk: Buffer) => string | Buffer) | undefined;
    const gone = () => {
      if (!client.writableFinished) flow.abort();
    };
    client.once('close', gone);
    client.on('drain', () => flow.resume());
    return {
      head(status, headers) {
        transform = options.transform?.(headers);
        const passed = options.headers(headers);
        if (transform !== undefined) delete passed['content-length'];
        client.writeHead(status, passed);
      },
      data: (chunk) => client.write(transform === undefined ? chunk : transform(chunk)),
      ended() {
        client.end();
      },
      failed(error) {
        if (client.headersSent) client.destroy();
        else options.fail(error);
      },
    };
  });
}
