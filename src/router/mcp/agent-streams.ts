import { backoffDelay } from '#kit/backoff.ts';
import { createSseDecoder } from '#mcp/sse.ts';
import type { Services } from '../services.ts';
import type { AgentCall, AnswerSink, Flow } from '../upstream/send.ts';
import { afterEvent } from './agent-call.ts';

/** Event streams of agents that the router holds open for clients of several agents. */
export interface AgentStreams {
  /**
   * Opens the stream, and again after a pause each time that it ends, until the returned function is called.
   * Undefined when the agent's share of streams is used up, which is logged once an agent.
   */
  keep(options: KeptStream): (() => void) | undefined;
}

export interface KeptStream {
  readonly call: AgentCall;
  /** The data of one event. */
  readonly onEvent: (data: string) => void;
  /** The agent answered with no stream, or not at all; it is tried again all the same. */
  readonly onFailure?: () => void;
}

/** A kept stream of an agent that rules, or a table, may take away for a while. */
export interface SwitchedStream {
  /** Closes it, or opens it anew where it was closed by this. */
  turn(isThere: boolean): void;
  /** For good. */
  close(): void;
}

/** `open` is as AgentStreams.keep. Undefined when it opens nothing the first time. */
export function switchedStream(open: () => (() => void) | undefined): SwitchedStream | undefined {
  let close = open();
  let isOver = false;
  const off = () => {
    close?.();
    close = undefined;
  };
  if (close === undefined) return undefined;
  return {
    turn(isThere) {
      if (!isThere) off();
      else if (!isOver) close ??= open();
    },
    close() {
      isOver = true;
      off();
    },
  };
}

const pause = { initial: 500, max: 30_000, jitter: 0.2 };

export function createAgentStreams(services: Services): AgentStreams {
  const open = new Map<string, number>();
  const full = new Set<string>();
  const count = (agent: string, change: number) => {
    const now = (open.get(agent) ?? 0) + change;
    if (now === 0) open.delete(agent);
    else open.set(agent, now);
  };
  return {
    keep(options) {
      const { agent } = options.call;
      if ((open.get(agent) ?? 0) >= services.limits.agentStreams) {
        const { agentStreams } = services.limits;
        if (!full.has(agent))
          services.log.warn('too many clients listen to an agent', { agent, agentStreams });
        full.add(agent);
        return undefined;
      }
      count(agent, 1);
      const stream = new Kept(services, options);
      return () => {
        if (stream.close()) count(agent, -1);
      };
    },
  };
}

class Kept {
  readonly #services: Services;
  readonly #options: KeptStream;
  #flow: Flow | undefined;
  #cancel = () => {};
  #failures = 0;
  /** Where it was; what the agent tells meanwhile is asked for when it is opened again. */
  #lastEventId: string | undefined;
  #closed = false;

  constructor(services: Services, options: KeptStream) {
    this.#services = services;
    this.#options = options;
    this.#open();
  }

  /** False when it was closed before. */
  close(): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    this.#cancel();
    this.#flow?.abort();
    return true;
  }

  #open(): void {
    const silenceMs = this.#services.limits.agentStreamSilenceMs;
    const call = afterEvent(this.#options.call, this.#lastEventId);
    this.#services.sender.send({ ...call, silenceMs }, (flow) => {
      this.#flow = flow;
      return this.#sink(flow);
    });
  }

  #sink(flow: Flow): AnswerSink {
    const decoder = createSseDecoder(this.#services.limits.eventChars);
    const giveUp = () => {
      flow.abort();
      this.#again();
    };
    return {
      head: (status, headers) => {
        const isStream = String(headers['content-type'] ?? '').startsWith('text/event-stream');
        if (status === 200 && isStream) return;
        this.#lastEventId = undefined;
        giveUp();
      },
      data: (chunk) => {
        try {
          for (const { data, id } of decoder.push(chunk)) {
            this.#failures = 0;
            this.#lastEventId = id ?? this.#lastEventId;
            if (data !== '' && !this.#closed) this.#options.onEvent(data);
          }
        } catch (error) {
          this.#services.log.warn('an event of an agent cannot be taken', {
            agent: this.#options.call.agent,
            error,
          });
          giveUp();
        }
        return true;
      },
      ended: () => this.#again(),
      failed: () => this.#again(),
    };
  }

  #again(): void {
    if (this.#closed) return;
    this.#options.onFailure?.();
    this.#failures += 1;
    const delay = backoffDelay(pause, this.#failures, this.#services.random.fraction());
    this.#cancel = this.#services.clock.after(delay, () => this.#open());
  }
}
