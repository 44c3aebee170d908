import type { ServerResponse } from 'node:http';
import type { RouterError } from '../errors.ts';
import type { AgentCall, AnswerHeaders, Sender } from './send.ts';

export interface RelayOptions {
  /** Headers for the client, from the agent's. */
  readonly headers: (headers: AnswerHeaders) => Record<string, string | string[]>;
  /** Writes the answer when the agent gave none; not called once its headers went out. */
  readonly fail: (error: RouterError) => void;
  /** Changes the body as it passes, when the headers say that it should. */
  readonly transform?: ((headers: AnswerHeaders) => Transform | undefined) | undefined;
}

/** Takes a body piece by piece. Throws for one that it cannot take; the client's connection is broken then. */
export interface Transform {
  /** What of it can be sent already. */
  push(chunk: Buffer): string | Buffer;
  /** What is left at the end. */
  end?(): string | Buffer;
}

/**
 * Streams the answer of a call to a client: backpressure both ways, a client that goes away ends the call,
 * an agent that breaks off in the middle breaks the client's connection too, so that nobody takes a part
 * for the whole.
 */
export function relay(sender: Sender, call: AgentCall, client: ServerResponse, options: RelayOptions): void {
  sender.send(call, (flow) => {
    let transform: Transform | undefined;
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
      data(chunk) {
        if (transform === undefined) return client.write(chunk);
        const changed = tryTo(() => transform?.push(chunk));
        if (changed === undefined) {
          flow.abort();
          client.destroy();
          return true;
        }
        return changed.length === 0 ? true : client.write(changed);
      },
      ended() {
        const rest = transform?.end === undefined ? '' : tryTo(() => transform?.end?.());
        if (rest === undefined) client.destroy();
        else if (rest.length === 0) client.end();
        else client.end(rest);
      },
      failed(error) {
        if (client.headersSent) client.destroy();
        else options.fail(error);
      },
    };
  });
}

function tryTo<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
